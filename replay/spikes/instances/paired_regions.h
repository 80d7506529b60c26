// SPDX-License-Identifier: MIT
// Regions that begin in one thread and end in another: a request that is handed on. The value that
// each thread writes into the trace behind the place (PTWRITE) connects an end to its begin.
//
//   thread 1   start ptwrite 7          start ptwrite 8
//   thread 2                  ... stop ptwrite 7      ... stop ptwrite 8
//
// An instance is executed by the thread that ends it: from its begin on, or, where that thread was
// still executing the one before, from that one's end on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "flowback/replay/player.h"
#include "flowback/replay/timeline.h"
#include "replay/spikes/instances/region_places.h"
#include "replay/threads/stream_times.h"
#include "replay/threads/time_slot.h"

namespace flowback {

// A thread comes to one of the two places.
struct PlacePass {
  uint32_t thread = 0;
  bool starts = false;
  bool has_value = false;
  uint64_t value = 0;
  uint64_t position = 0;  // number of the thread's instructions before it
  TimePoint at;
};

// The region in the thread that ends it.
struct PairedRegion {
  TimePoint begin;
  uint32_t begun_by = 0;  // number of the thread
  uint64_t stop = 0;      // instructions of the ending thread before its end
};

// Passes that belong to no region.
struct UnpairedPasses {
  uint64_t without_begin = 0;  // ends
  uint64_t without_end = 0;    // begins
  uint64_t without_value = 0;
};

struct PairedRegions {
  std::vector<std::vector<PairedRegion>> by_thread;  // each in the order of their ends
  UnpairedPasses unpaired;
};

// Where a value comes again, the earliest begin that has no end is taken. `threads`: how many there
// are. The passes may be in any order.
PairedRegions PairPasses(std::vector<PlacePass> passes, size_t threads);

// Finds the passes in the flow.
class PassFinder final : public PlayConsumer {
 public:
  // Those beyond are counted only.
  static constexpr size_t kMostPasses = size_t{1} << 22;

  // `places` must outlive it. Times are those of `unit`.
  PassFinder(const RegionPlaces& places, const TimeUnit& unit) : places_(places), unit_(unit) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss&) override { waiting_ = false; }

  std::vector<PlacePass> TakePasses() { return std::move(passes_); }
  uint64_t left_out() const { return left_out_; }

 private:
  const RegionPlaces& places_;
  const TimeUnit unit_;
  std::vector<PlacePass> passes_;
  uint64_t left_out_ = 0;
  uint64_t instructions_ = 0;
  uint32_t thread_ = 0;
  bool waiting_ = false;  // the thread's last pass has no value yet
};

}  // namespace flowback
