// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/paired_regions.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace flowback {

PairedRegions PairPasses(std::vector<PlacePass> passes, size_t threads) {
  PairedRegions regions;
  regions.by_thread.resize(threads);
  std::ranges::stable_sort(passes, {}, [](const PlacePass& pass) { return pass.at.time; });
  std::unordered_map<uint64_t, std::deque<const PlacePass*>> open;
  for (const PlacePass& pass : passes) {
    if (!pass.has_value) {
      ++regions.unpaired.without_value;
      continue;
    }
    std::deque<const PlacePass*>& begun = open[pass.value];
    if (pass.starts) {
      begun.push_back(&pass);
    } else if (begun.empty()) {
      ++regions.unpaired.without_begin;
    } else {
      const PlacePass& begin = *begun.front();
      begun.pop_front();
      regions.by_thread[pass.thread].push_back(
          {.begin = begin.at, .begun_by = begin.thread, .stop = pass.position});
    }
  }
  for (const auto& [value, begun] : open) regions.unpaired.without_end += begun.size();
  for (std::vector<PairedRegion>& each : regions.by_thread)
    std::ranges::stable_sort(each, {}, &PairedRegion::stop);
  return regions;
}

void PassFinder::OnThreadBegin(const ThreadFlow&, size_t number) {
  thread_ = static_cast<uint32_t>(number);
  instructions_ = 0;
  waiting_ = false;
}

void PassFinder::OnBlock(const BlockRun& run) {
  places_.ForEach(run, [&](const RegionPlaces::Place& place) {
    waiting_ = passes_.size() < kMostPasses;
    if (!waiting_) {
      ++left_out_;
      return;
    }
    const uint64_t tsc = run.TscOf(place.instruction);
    passes_.push_back({.thread = thread_,
                       .starts = place.starts,
                       .position = instructions_ + place.instruction,
                       .at = unit_.Point(tsc, run.BoundsOf(place.instruction))});
  });
  instructions_ += run.lengths.size();
}

// The value stands behind the instruction that wrote it.
void PassFinder::OnEvent(const TraceEvent& event) {
  if (event.kind != EventKind::kPtwrite || !waiting_) return;
  passes_.back().value = event.value;
  passes_.back().has_value = true;
  waiting_ = false;
}

}  // namespace flowback
