// SPDX-License-Identifier: MIT
// How the ranges of code on a memo's paths begin and end.
//
// Many paths have the same ends, so each is kept once: they then stay in the processor's first
// caches, where the paths themselves don't.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "decode/flow/range_counter.h"
#include "flowback/model/block_batch.h"

namespace flowback::pt {

// A path's first branch that was taken, and what it is in the middle of at its end.
struct PathEnds {
  uint32_t last = 0;  // the block of that branch; 0: none was taken
  uint32_t next = 0;  // where that led
  uint32_t open = 0;  // the block behind the last branch that was taken; 0: none was
  uint32_t step = 0;  // BlockStep::value of the path's last step

  auto operator<=>(const PathEnds&) const = default;

  // `next` is the block behind the path.
  static PathEnds Of(std::span<const BlockStep> path, uint32_t next) {
    PathEnds ends{.step = path.back().value};
    for (size_t i = 0; i < path.size(); ++i) {
      if (!path[i].taken()) continue;
      ends.open = i + 1 < path.size() ? path[i + 1].number() : next;
      if (ends.last != 0) continue;
      ends.last = path[i].number();
      ends.next = ends.open;
    }
    return ends;
  }
};

// The same with how often the range ran that ends on these paths. Mostly it begins at one place, so
// that the use of a path is one addition.
struct alignas(32) SharedEnds : PathEnds {
  uint32_t before = 0;  // the range's first block; 0: none ran yet
  uint64_t times = 0;   // that are in no sum yet

  void Count(flow::RangeCounter& counter) {
    if (times != 0) counter.Add({before, last, next}, std::exchange(times, 0));
  }
  // The range begins at another block from now on.
  [[gnu::noinline]] void Change(uint32_t first, flow::RangeCounter& counter) {
    Count(counter);
    before = first;
    counter.Add({first, last, next}, 0);
  }
};

class PathEndsTable {
 public:
  uint32_t Keep(const PathEnds& ends) {
    const auto [at, is_new] = numbers_.try_emplace(ends, static_cast<uint32_t>(all_.size()));
    if (is_new) all_.push_back({ends});
    return at->second;
  }
  SharedEnds& operator[](uint32_t number) { return all_[number]; }
  bool full() const { return all_.size() >= kMost; }
  void Count(flow::RangeCounter& counter) {
    for (SharedEnds& ends : all_) {
      ends.Count(counter);
      ends.before = 0;
    }
  }
  // REQUIRES: all has been counted.
  void Clear() { *this = {}; }

 private:
  static constexpr size_t kMost = size_t{1} << 18;

  std::vector<SharedEnds> all_;
  std::map<PathEnds, uint32_t> numbers_;
};

}  // namespace flowback::pt
