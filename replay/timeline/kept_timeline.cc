// SPDX-License-Identifier: MIT
#include "replay/timeline/kept_timeline.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "replay/flow/index_disk.h"
#include "replay/timeline/kept_result.h"
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
  NoteFlows(out, flows);
  return "timeline-" + cache.key + "-" + Hex(ContentHash(out.bytes())).substr(2);
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
  std::optional<Timeline> timeline;
  const bool loaded = LoadResult(cache_, name_, sources_.symbolizer, [&](Bytes bytes) {
    timeline = TimelineFromBytes(bytes, sources_.recording,
                                 SpacesOf(sources_.recording, sources_.flow.inputs));
    return timeline && IsOfFlows(*timeline);
  });
  return loaded ? std::move(timeline) : std::nullopt;
}

bool KeptTimeline::IsOfFlows(const Timeline& timeline) const {
  return std::ranges::equal(timeline.threads, flows_,
                            [](const ThreadTimeline& thread, const ThreadFlow* flow) {
                              return thread.tid == flow->tid && thread.pid == flow->pid;
                            });
}

void KeptTimeline::Keep(const Timeline& timeline) const {
  if (!IsUsable(cache_)) return;
  const SpaceNames spaces = SpacesOf(sources_.recording, sources_.flow.inputs);
  StoreResult(cache_, name_, sources_.symbolizer, TimelineToBytes(timeline, spaces));
}

}  // namespace flowback
