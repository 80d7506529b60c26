// SPDX-License-Identifier: MIT
// Which calls threads were in while they held something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/spikes/instances/path_tree.h"

namespace flowback {

// A thread's holds may overlap: it is followed from the begin of the first to the end of the last.
// Calls are followed as deep as there is room for: in a hold with many calls, the outer ones alone.
class HoldActivity {
 public:
  // `paths` must outlive this.
  explicit HoldActivity(const PathTree& paths) : paths_(paths) {}

  // A thread that holds something from `time` on is in the call `node`, which is the `depth`th of
  // its stack, counted from 0.
  void Begin(uint32_t thread, uint32_t node, size_t depth, uint64_t time);
  // It is in another one from then on. Nothing happens if it is not followed.
  void Move(uint32_t node, uint64_t time);
  // It holds nothing any more.
  void End(uint64_t time);
  // The number of outermost calls to follow now; 0: none.
  size_t followed() const { return followed_; }

  // Calls give(node, time) for each call that the thread was in between two times.
  template <typename Give>
  void Between(uint32_t thread, uint64_t begin, uint64_t end, Give&& give) const {
    if (thread >= moves_.size()) return;
    const std::vector<At>& moves = moves_[thread];
    auto at = std::ranges::upper_bound(moves, begin, {}, &At::time);
    if (at != moves.begin()) --at;
    for (; at != moves.end() && at->time < end; ++at) {
      if (at->node == PathTree::kRoot) continue;
      const uint64_t until = at + 1 == moves.end() ? end : std::min(end, (at + 1)->time);
      const uint64_t from = std::max(begin, at->time);
      if (from < until) give(at->node, until - from);
    }
  }

 private:
  static constexpr size_t kMostMoves = size_t{1} << 20;  // of all threads
  static constexpr size_t kMostOfHold = 64;              // before inner calls are left out
  static constexpr uint32_t kDeepest = 8;                // calls below the one that acquired

  struct At {
    uint64_t time = 0;
    uint32_t node = PathTree::kRoot;  // kRoot: it holds nothing
  };

  uint32_t Cut(uint32_t node) const;
  void LeaveOutInner();

  const PathTree& paths_;
  std::vector<std::vector<At>> moves_;  // by thread, in the order of time
  size_t kept_ = 0;
  uint32_t thread_ = 0;   // that is followed
  size_t first_ = 0;      // of its moves, the first of what it holds now
  uint32_t deepest_ = 0;  // of the followed nodes: InstancePath::depth
  size_t followed_ = 0;
};

}  // namespace flowback
