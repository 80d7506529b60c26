// SPDX-License-Identifier: MIT
#include "replay/spikes/kept_spikes.h"

#include <bit>
#include <utility>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "replay/flow/index_disk.h"
#include "replay/spikes/spikes_bytes.h"
#include "replay/timeline/kept_result.h"

namespace flowback {
namespace {

std::string TextOf(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string ThreadsOf(const std::vector<const ThreadFlow*>& flows) {
  NumberWriter out;
  NoteFlows(out, flows);
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
  if (!IsUsable(cache_)) return;
  spaces_ = SpacesOf(sources.recording, sources.flow.inputs);
  threads_ = ThreadsOf(flows);
}

std::string KeptSpikes::NameOf(const std::string& kind, const std::string& region,
                               const std::string& words) const {
  NumberWriter out;
  for (const std::string& text : {threads_, region, words})
    out.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return kind + "-" + cache_.key + "-" + Hex(ContentHash(out.bytes())).substr(2);
}

template <class Read>
bool KeptSpikes::Load(const std::string& name, const Read& read) const {
  return LoadResult(cache_, name, sources_.symbolizer, [&](Bytes bytes) {
    return read(bytes, SpikeContext{sources_.recording, spaces_, flows_});
  });
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
  if (!IsUsable(cache_)) return;
  StoreResult(cache_, NameOf("loops"), sources_.symbolizer, LoopsToBytes(loops, spaces_));
}

void KeptSpikes::Keep(const SpikeOptions& options, const SpikeReport& report) const {
  if (!IsUsable(cache_)) return;
  if (!has_instances_)
    StoreResult(cache_, NameOf("instances", region_), sources_.symbolizer,
                InstancesToBytes(report, spaces_));
  if (!has_comparison_ && report.slow != 0 && report.normal != 0)
    StoreResult(cache_, NameOf("spikes", region_, WordsOf(options)), sources_.symbolizer,
                ComparisonToBytes(report, spaces_));
}

}  // namespace flowback
