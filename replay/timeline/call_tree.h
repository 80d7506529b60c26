// SPDX-License-Identifier: MIT
// Calls merged by call path, as they are counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "flowback/replay/timeline.h"
#include "replay/threads/time_slot.h"
#include "replay/timeline/duration_counts.h"

namespace flowback {

// Cycles as CycleShares counts them.
struct CycleCounts {
  uint64_t likely = 0;    // own
  uint64_t measured = 0;  // own instructions of those
  uint64_t bounded = 0;   // own instructions whose cycles are told, or their limit is
  uint64_t own_lo = 0;
  uint64_t own_hi = 0;
  uint64_t enclosed = 0;     // of this call and what it called: surely,
  uint64_t enclosed_hi = 0;  // or at most
  uint64_t around_hi = 0;  // at most, beside what is enclosed; its callers' own are enclosed there

  void Add(const CycleCounts& other);
};

// What a node counts by itself.
struct NodeCounts {
  uint64_t count = 0;
  uint64_t partial = 0;
  TimeShare self;  // executing
  uint64_t instructions = 0;
  DurationCounts durations;
  ClassTimes own{};  // all else: none is kExecuting
  CycleCounts cycles;

  // It executed from the one to the other.
  void AddExecuting(const TimePoint& begin, const TimePoint& end) {
    const uint64_t time = end.time - begin.time;
    self.time += time;
    self.lo += std::min(end.lo - std::min(end.lo, begin.hi), time);
    self.hi += std::max(end.hi - std::min(end.hi, begin.lo), time);
  }
  void Add(const NodeCounts& other);
};

// A forest: several trees whose roots have no function, of which the first one is the result's.
class CallTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  CallTree() { NewRoot(); }

  uint32_t NewRoot() { return New(kNone, CallPath::kNoFunction); }
  // The child that was asked for last, where it is of the function; else kNone.
  uint32_t LastChild(uint32_t parent, uint32_t function) const {
    const uint32_t last = nodes_[parent].last_found;
    return last != kNone && nodes_[last].function == function ? last : kNone;
  }
  // Of `parent`; kNone where there is none and `may_add` is false.
  uint32_t Child(uint32_t parent, uint32_t function, bool may_add);
  // Everything under `root` happened in a call of the function, which makes that root's place;
  // returns the new root.
  uint32_t PutUnder(uint32_t root, uint32_t function);
  // Adds what is under `from`, a root, to `to`, and forgets it. `moved` hears which node each
  // became.
  using Moved = std::function<void(uint32_t from, uint32_t to)>;
  void Merge(uint32_t from, uint32_t to, const Moved& moved = {});
  uint32_t ParentOf(uint32_t node) const { return nodes_[node].parent; }
  NodeCounts& Of(uint32_t node) { return nodes_[node].counts; }
  size_t size() const { return nodes_.size() - free_.size(); }

  // The first root's tree, with the sums that follow from it. What was never called and had no time
  // is left out. `most_hi`: no time is longer.
  std::vector<CallPath> Paths(uint64_t most_hi) const;
  // With the durations, which SumsByFunction can't know. REQUIRES: one root.
  std::vector<CallSums> ByFunction(const std::vector<CallPath>& paths, size_t functions) const;
  // Adds another tree, of another thread.
  void Add(const CallTree& other, size_t most);

 private:
  struct Node {
    uint32_t parent = kNone;
    uint32_t function = CallPath::kNoFunction;
    uint32_t first_child = kNone;
    uint32_t next = kNone;        // sibling
    uint32_t last_found = kNone;  // the child that was asked for last
    NodeCounts counts;
  };

  uint32_t New(uint32_t parent, uint32_t function);
  void Forget(uint32_t node);
  static uint64_t KeyOf(uint32_t parent, uint32_t function) {
    return uint64_t{parent} << 32 | function;
  }

  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint32_t> children_;
};

}  // namespace flowback
