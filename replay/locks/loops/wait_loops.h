// SPDX-License-Identifier: MIT
// The loops that threads went round, each judged once for each way through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "replay/locks/loops/loop_blocks.h"
#include "replay/locks/loops/trip.h"

namespace flowback {

// Instructions of a block that a thread executed.
struct TrailPart {
  const LoopBlock* block = nullptr;
  uint64_t begin = 0;  // addresses, half-open
  uint64_t end = 0;
  bool taken = false;  // the last one transferred control

  // Whether it is the same instructions, of whichever block.
  bool IsSame(const TrailPart& other) const {
    return begin == other.begin && end == other.end && taken == other.taken &&
           block->space == other.block->space;
  }
};

// One way round a loop: from where its last branch leads to that branch.
struct WaitLoop {
  std::vector<TrailPart> path;
  TripVerdict verdict;
  uint64_t trips = 0;

  uint64_t address() const { return path.front().begin; }
  uint64_t branch() const { return path.back().block->branch; }
  const AddressSpace* space() const { return path.front().block->space; }
  bool waits() const { return verdict.kind == LoopKind::kWait || verdict.kind == LoopKind::kRetry; }
};

// The same, as trips are judged by.
std::vector<TripPart> PartsOf(std::span<const TrailPart> path);
uint64_t HashOf(std::span<const TrailPart> path);

class WaitLoops {
 public:
  // The last part's branch is taken as leading to the first one, whether it did or not.
  WaitLoop& Of(std::span<const TrailPart> path);
  const std::deque<WaitLoop>& all() const { return loops_; }

 private:
  static constexpr size_t kMost = size_t{1} << 17;

  std::deque<WaitLoop> loops_;
  WaitLoop other_;  // any way beyond these; not a wait
  std::unordered_multimap<uint64_t, WaitLoop*> by_hash_;
};

}  // namespace flowback
