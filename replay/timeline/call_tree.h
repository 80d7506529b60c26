// SPDX-License-Identifier: MIT
// Calls merged by call path, as they are counted.
//
// There may be as many call paths as calls: a tree can be cut to the most expensive ones. Cut paths
// below a path stay there, as one node without a function, so that all other nodes keep their sums;
// and it is kept by function, so that the sums by function do not change either.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "flowback/replay/timeline.h"
#include "replay/threads/time_slot.h"
#include "replay/timeline/duration_counts.h"
#include "replay/timeline/function_sums.h"

namespace flowback {

// Cycles as CycleShares counts them.
struct CycleCounts {
  uint64_t likely = 0;    // own
  uint64_t measured = 0;  // own instructions of those
  uint64_t bounded = 0;   // own instructions whose cycles, or their limit, are known
  uint64_t own_lo = 0;
  uint64_t own_hi = 0;
  uint64_t enclosed = 0;     // of this call and what it called: surely,
  uint64_t enclosed_hi = 0;  // or at most
  uint64_t around_hi = 0;  // at most, beside enclosed time; its callers' own time is enclosed there

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
  // Adds the counts of a call path that is cut, but for the durations, which say nothing of calls
  // of several functions. `outer`: its caller is not cut.
  void AddCut(const NodeCounts& other, bool outer);

 private:
  void AddSums(const NodeCounts& other);
};

// A forest: several trees whose roots have no function. The first tree is the result.
class CallTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // `by_instructions`: paths with fewer instructions are cheaper; else those that took less time.
  explicit CallTree(bool by_instructions = false) : by_instructions_(by_instructions) { NewRoot(); }

  uint32_t NewRoot() { return New(kNone, CallPath::kNoFunction); }
  // The child that was asked for last, where it is of the function; else kNone.
  uint32_t LastChild(uint32_t parent, uint32_t function) const {
    const uint32_t last = nodes_[parent].last_found;
    return last != kNone && nodes_[last].function == function ? last : kNone;
  }
  // The child of `parent` that has the function.
  uint32_t Child(uint32_t parent, uint32_t function);
  // Everything under `root` happened in a call of the function, which makes that root's place;
  // returns the new root.
  uint32_t PutUnder(uint32_t root, uint32_t function);
  // Adds the nodes under `from`, a root, to `to`, and forgets them. Calls `moved` with each node's
  // old and new number.
  using Moved = std::function<void(uint32_t from, uint32_t to)>;
  void Merge(uint32_t from, uint32_t to, const Moved& moved = {});
  uint32_t ParentOf(uint32_t node) const { return nodes_[node].parent; }
  NodeCounts& Of(uint32_t node) { return nodes_[node].counts; }
  size_t size() const { return nodes_.size() - free_.size(); }

  // Keeps at most `most` nodes of the forest, those of the most expensive paths, and none deeper
  // than `deepest`. But all `pinned` nodes stay, with their callers.
  void Cut(size_t most, uint32_t deepest = UINT32_MAX, std::span<const uint32_t> pinned = {});
  // The calls whose paths have been cut.
  uint64_t CutCalls() const;

  // The first root's tree, with the sums that follow from it. `most_hi`: no time is longer.
  std::vector<CallPath> Paths(uint64_t most_hi) const;
  // Adds the sums of each function, whether its paths were cut or not. `sums` and `durations` get
  // an element for each function. REQUIRES: one root.
  void AddByFunction(std::vector<CallSums>& sums, std::vector<DurationCounts>& durations) const;
  // Returns the sums of this tree alone, with durations.
  std::vector<CallSums> ByFunction(size_t functions) const;
  // Adds the first root's tree of another thread.
  void Add(const CallTree& other);

 private:
  struct Node {
    uint32_t parent = kNone;
    uint32_t function = CallPath::kNoFunction;
    uint32_t first_child = kNone;
    uint32_t next = kNone;        // sibling
    uint32_t last_found = kNone;  // the child that was asked for last
    bool used = false;
    // Calls of this path may have been cut before the node was made.
    bool at_least = false;
    NodeCounts counts;
  };
  // A node where it stands in depth-first order.
  struct Step {
    uint32_t node = 0;
    uint32_t parent = 0;  // its parent's place in that order
    uint32_t root = 0;
    uint32_t depth = 0;
  };
  struct Walk {
    std::vector<Step> steps;
    std::vector<InnerSums> inner;  // of each step
  };
  class Cutter;  // call_tree_cut.cc

  uint32_t New(uint32_t parent, uint32_t function);
  Walk WalkFrom(std::vector<uint32_t> roots) const;
  static CallSums OwnSums(const Node& node);
  void VisitFunctions(const Walk& walk,
                      const std::function<void(size_t step, bool is_outermost)>& visit) const;
  bool IsCut(uint32_t node) const {
    return nodes_[node].function == CallPath::kNoFunction && nodes_[node].parent != kNone;
  }
  uint32_t CutUnder(uint32_t parent) const {
    const auto found = children_.find(KeyOf(parent, CallPath::kNoFunction));
    return found == children_.end() ? kNone : found->second;
  }
  void NoteUnsure(const CallTree& other, uint32_t source, uint32_t target);
  static uint64_t KeyOf(uint32_t parent, uint32_t function) {
    return uint64_t{parent} << 32 | function;
  }

  bool by_instructions_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  size_t functions_ = 0;  // all their numbers are less
  CutFunctions cut_;
  std::unordered_map<uint64_t, uint32_t> children_;
};

}  // namespace flowback
