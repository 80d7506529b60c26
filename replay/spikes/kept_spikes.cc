// SPDX-License-Identifier: MIT
#include "replay/spikes/kept_spikes.h"

#include <bit>
#include <utility>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "replay/flow/index_disk.h"
#include "replay/spikes/spikes_bytes.h"
#include "replay/symbols/symbol_sources.h"

namespace flowback {
namespace {

std::string TextOf(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string ThreadsOf(const std::vector<const ThreadFlow*>& flows) {
  NumberWriter out;
  for (const ThreadFlow* flow : flows) {
    out.Number(static_cast<uint32_t>(flow->pid));
    out.Number(static_cast<uint32_t>(flow->tid));
    out.Number(flow->pieces.size());
    for (const FlowPiece& piece : flow->pieces)
      for (const uint64_t number : {uint64_t{piece.stream->index}, piece.begin, piece.end})
        out.Number(number);
  }
  return TextOf(out.Take());
}

// All that the second pass depends on beside the list of instances.
std::string WordsOf(const SpikeOptions& options) {
  NumberWriter out;
  out.Number(options.measure ? static_cast<uint64_t>(*options.measure) + 1 : 0);
  out.Number(static_cast<uint64_t>(options.limit.kind));
  out.Number(options.limit.value);
  out.Word(std::bit_cast<uint64_t>(options.limit.share));
  for (const uint64_t number :
       {options.least_time, options.span.begin, options.span.end, uint64_t{options.top}})
    out.Number(number);
  return TextOf(out.Take());
}

}  // namespace

KeptSpikes::KeptSpikes(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
                       std::string region, IndexCache cache)
    : sources_(sources), flows_(flows), region_(std::move(region)), cache_(std::move(cache)) {
  if (!IsOn()) return;
  for (const Stream& stream : sources.recording.streams)
    spaces_.Add(sources.flow.inputs.For(stream));
  threads_ = ThreadsOf(flows);
}

bool KeptSpikes::IsOn() const { return IsUsable(cache_); }

std::string KeptSpikes::NameOf(const std::string& kind, const std::string& region,
                               const std::string& words) const {
  NumberWriter out;
  for (const std::string& text : {threads_, region, words})
    out.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return kind + "-" + cache_.key + "-" + Hex(ContentHash(out.bytes())).substr(2);
}

template <class Read>
bool KeptSpikes::Load(const std::string& name, const Read& read) const {
  if (!IsOn()) return false;
  const auto file = DiskOf(cache_).Load(name);
  if (file == nullptr) return false;
  NumberReader in(file->content());
  if (!HaveStayed(in, sources_.symbolizer)) return false;
  const Bytes bytes = in.Block();
  return in.Done() && read(bytes, SpikeContext{sources_.recording, spaces_, flows_});
}

void KeptSpikes::Store(const std::string& name, const std::vector<uint8_t>& bytes) const {
  if (bytes.empty() || bytes.size() > cache_.most_bytes / kPart) return;
  NumberWriter out;
  NoteSources(out, sources_.symbolizer);
  out.Block(bytes);
  const DiskCache disk = DiskOf(cache_);
  if (disk.Store(name, out.bytes())) disk.Trim();
}

std::optional<std::vector<RequestLoop>> KeptSpikes::LoadLoops() const {
  std::vector<RequestLoop> loops;
  const bool loaded = Load(NameOf("loops"), [&](Bytes bytes, const SpikeContext& context) {
    return LoopsFromBytes(bytes, context, loops) && !loops.empty();
  });
  if (!loaded) return std::nullopt;
  return loops;
}

bool KeptSpikes::LoadInstances(MeasuredInstances& measured) {
  has_instances_ =
      Load(NameOf("instances", region_), [&](Bytes bytes, const SpikeContext& context) {
        return InstancesFromBytes(bytes, context, measured);
      });
  return has_instances_;
}

bool KeptSpikes::LoadComparison(const SpikeOptions& options, SpikeReport& report) {
  has_comparison_ = Load(NameOf("spikes", region_, WordsOf(options)),
                         [&](Bytes bytes, const SpikeContext& context) {
                           return ComparisonFromBytes(bytes, context, report);
                         });
  return has_comparison_;
}

void KeptSpikes::KeepLoops(const std::vector<RequestLoop>& loops) const {
  if (IsOn()) Store(NameOf("loops"), LoopsToBytes(loops, spaces_));
}

void KeptSpikes::Keep(const SpikeOptions& options, const SpikeReport& report) const {
  if (!IsOn()) return;
  if (!has_instances_) Store(NameOf("instances", region_), InstancesToBytes(report, spaces_));
  if (!has_comparison_ && report.slow != 0 && report.normal != 0)
    Store(NameOf("spikes", region_, WordsOf(options)), ComparisonToBytes(report, spaces_));
}

}  // namespace flowback
