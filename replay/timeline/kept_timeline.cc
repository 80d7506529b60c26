// SPDX-License-Identifier: MIT
#include "replay/timeline/kept_timeline.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "replay/flow/index_disk.h"
#include "replay/symbols/symbol_sources.h"
#include "replay/timeline/timeline_bytes.h"

namespace flowback {
namespace {

// All that MakeTimeline's result depends on beside the recording and its code.
std::string NameOf(const IndexCache& cache, const std::vector<const ThreadFlow*>& flows,
                   const TimelineOptions& options, const std::string& focus) {
  NumberWriter out;
  for (const uint64_t number :
       {options.span.begin, options.span.end, uint64_t{options.most_paths},
        uint64_t{options.by_instructions}, uint64_t{options.most_calls}, uint64_t{options.columns},
        uint64_t{options.most_strips}, uint64_t{options.spans},
        uint64_t{static_cast<bool>(options.focus)}, uint64_t{flows.size()}})
    out.Number(number);
  out.Block({reinterpret_cast<const uint8_t*>(focus.data()), focus.size()});
  for (const ThreadFlow* flow : flows) {
    out.Number(static_cast<uint32_t>(flow->pid));
    out.Number(static_cast<uint32_t>(flow->tid));
    out.Number(flow->pieces.size());
    for (const FlowPiece& piece : flow->pieces)
      for (const uint64_t number : {uint64_t{piece.stream->index}, piece.begin, piece.end})
        out.Number(number);
  }
  return "timeline-" + cache.key + "-" + Hex(ContentHash(out.bytes())).substr(2);
}

SpaceNames SpacesOf(const TimelineSources& sources) {
  SpaceNames spaces;
  for (const Stream& stream : sources.recording.streams)
    spaces.Add(sources.flow.inputs.For(stream));
  return spaces;
}

}  // namespace

KeptTimeline::KeptTimeline(const TimelineSources& sources,
                           const std::vector<const ThreadFlow*>& flows,
                           const TimelineOptions& options, const std::string& focus,
                           IndexCache cache)
    : sources_(sources), flows_(flows), cache_(std::move(cache)) {
  if (IsUsable(cache_)) name_ = NameOf(cache_, flows, options, focus);
}

std::optional<Timeline> KeptTimeline::Load() const {
  if (!IsUsable(cache_)) return std::nullopt;
  const auto file = DiskOf(cache_).Load(name_);
  if (file == nullptr) return std::nullopt;
  NumberReader in(file->content());
  if (!HaveStayed(in, sources_.symbolizer)) return std::nullopt;
  auto timeline = TimelineFromBytes(in.Block(), sources_.recording, SpacesOf(sources_));
  if (!timeline || !in.Done() || !IsOfFlows(*timeline)) return std::nullopt;
  return timeline;
}

bool KeptTimeline::IsOfFlows(const Timeline& timeline) const {
  return std::ranges::equal(timeline.threads, flows_,
                            [](const ThreadTimeline& thread, const ThreadFlow* flow) {
                              return thread.tid == flow->tid && thread.pid == flow->pid;
                            });
}

void KeptTimeline::Keep(const Timeline& timeline) const {
  if (!IsUsable(cache_)) return;
  const std::vector<uint8_t> bytes = TimelineToBytes(timeline, SpacesOf(sources_));
  if (bytes.empty() || bytes.size() > cache_.most_bytes / kPart) return;
  NumberWriter out;
  NoteSources(out, sources_.symbolizer);
  out.Block(bytes);
  const DiskCache disk = DiskOf(cache_);
  if (disk.Store(name_, out.bytes())) disk.Trim();
}

}  // namespace flowback
