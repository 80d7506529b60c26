// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/slow_traces.h"

#include <algorithm>
#include <set>

#include "capture/record/event_recorder/trace_cut.h"

namespace flowback::record {
namespace {

TimeConversion ConversionOf(const perf_event_mmap_page& page) {
  if (!page.cap_user_time_zero) return {};
  return {.shift = page.time_shift, .mult = page.time_mult, .zero = page.time_zero};
}

std::vector<uint8_t> Joined(const RingPart& part) {
  std::vector<uint8_t> bytes(part.first.begin(), part.first.end());
  bytes.insert(bytes.end(), part.second.begin(), part.second.end());
  return bytes;
}

// In order, those that touch as one.
std::vector<TraceCut> Merged(std::vector<TraceCut> cuts) {
  std::ranges::sort(cuts, {}, &TraceCut::begin);
  std::vector<TraceCut> merged;
  for (const TraceCut& cut : cuts) {
    if (merged.empty() || cut.begin > merged.back().end)
      merged.push_back(cut);
    else
      merged.back().end = std::max(merged.back().end, cut.end);
  }
  return merged;
}

// Returns the parts of one buffer's trace that belong to calls. `told` gets those whose beginning
// is there.
std::vector<TraceCut> CutsOf(size_t buffer, Bytes trace, bool has_begin, const TraceTimes& times,
                             const std::vector<SlowCall>& calls, std::set<size_t>& told) {
  std::vector<TraceCut> cuts;
  for (size_t call = 0; call < calls.size(); ++call) {
    if (!calls[call].buffers.contains(buffer)) continue;
    const auto cut = times.Between(calls[call].begin, calls[call].end);
    if (!cut || cut->begin >= cut->end || cut->end > trace.size()) continue;
    if (cut->whole || has_begin) told.insert(call);
    cuts.push_back(*cut);
  }
  return Merged(std::move(cuts));
}

}  // namespace

Status KeepSlowTraces(const EventSet& events, const std::vector<SlowCall>& calls, EventFile& file,
                      SlowCallCounts& counts, uint64_t& bytes) {
  if (calls.empty()) return {};
  std::set<size_t> told;
  for (size_t i = 0; i < events.buffers().size(); ++i) {
    const EventSet::Buffer& buffer = events.buffers()[i];
    const bool concerned =
        std::ranges::any_of(calls, [i](const SlowCall& call) { return call.buffers.contains(i); });
    if (!concerned || !buffer.ring.has_aux()) continue;
    const EventRing::Latest latest = buffer.ring.LatestTrace(buffer.ring.aux().size());
    const std::vector<uint8_t> trace = Joined(latest.part);
    const TraceTimes times(trace, ConversionOf(buffer.ring.page()), calls.back().end);
    // Not yet overwritten by later trace.
    const bool has_begin = latest.offset == 0 && trace.size() < buffer.ring.aux().size();
    for (const TraceCut& cut : CutsOf(i, trace, has_begin, times, calls, told)) {
      const RingPart part{.first = Bytes(trace).subspan(cut.begin, cut.end - cut.begin),
                          .second = {}};
      const RecordedStream stream{
          .index = static_cast<uint32_t>(i), .tid = buffer.thread, .cpu = buffer.cpu};
      if (Status written = file.AddTrace(stream, part, latest.offset + cut.begin); !written)
        return written;
      bytes += part.size();
    }
  }
  counts.cut += calls.size() - told.size();
  return file.EndRound();
}

}  // namespace flowback::record
