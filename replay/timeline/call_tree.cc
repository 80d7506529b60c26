// SPDX-License-Identifier: MIT
//
// A caller that was not seen calling is found when control returns to it. All that was told so far
// happened in it, so what was the root becomes its node, and a new root goes above:
//
//     root                     new root
//      |- f                      |- caller   (was root)
//      |- g          ->          |    |- f
//                                |    |- g
//
// No child moves. When the flow ends, or is lost, the tree so far is added to that of the thread,
// path by path.
#include "replay/timeline/call_tree.h"

#include <algorithm>
#include <utility>

#include "base/saturated.h"

namespace flowback {
namespace {

// `to`'s limits are sums that have not been limited yet.
void AddInner(const CycleShare& inner, CycleShare& to) {
  to.instructions += inner.instructions;
  to.likely += inner.likely;
  to.lo += inner.lo;
  AddSaturated(to.hi, inner.hi);
  to.untold += inner.untold;
}

// What `counts` says of a node, but for what it called.
void SetCycles(const CycleCounts& counts, CallSums& sums) {
  const uint64_t untold = sums.self_instructions - std::min(sums.self_instructions, counts.bounded);
  sums.self_cycles = {.instructions = counts.measured,
                      .likely = counts.likely,
                      .lo = counts.own_lo,
                      .hi = counts.own_hi,
                      .untold = untold};
  sums.cycles = {.instructions = counts.measured,
                 .likely = counts.likely,
                 .lo = counts.enclosed,
                 .hi = counts.enclosed + counts.enclosed_hi,
                 .untold = untold};
}

}  // namespace

void CycleCounts::Add(const CycleCounts& other) {
  likely += other.likely;
  measured += other.measured;
  bounded += other.bounded;
  own_lo += other.own_lo;
  own_hi += other.own_hi;
  enclosed += other.enclosed;
  enclosed_hi += other.enclosed_hi;
  around_hi += other.around_hi;
}

void NodeCounts::Add(const NodeCounts& other) {
  count += other.count;
  partial += other.partial;
  self.time += other.self.time;
  self.lo += other.self.lo;
  AddSaturated(self.hi, other.self.hi);
  for (size_t i = 0; i < own.size(); ++i) own[i] += other.own[i];
  instructions += other.instructions;
  cycles.Add(other.cycles);
  durations.Add(other.durations);
}

uint32_t CallTree::New(uint32_t parent, uint32_t function) {
  uint32_t number = static_cast<uint32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
    nodes_[number] = {};
  }
  nodes_[number].parent = parent;
  nodes_[number].function = function;
  return number;
}

uint32_t CallTree::Child(uint32_t parent, uint32_t function, bool may_add) {
  // A loop calls the same few functions again and again.
  const uint32_t last = LastChild(parent, function);
  if (last != kNone) return last;
  const uint64_t key = KeyOf(parent, function);
  if (const auto found = children_.find(key); found != children_.end())
    return nodes_[parent].last_found = found->second;
  if (!may_add) return kNone;
  const uint32_t child = New(parent, function);
  nodes_[child].next = nodes_[parent].first_child;
  nodes_[parent].first_child = child;
  children_.emplace(key, child);
  return child;
}

uint32_t CallTree::PutUnder(uint32_t root, uint32_t function) {
  const uint32_t above = NewRoot();
  nodes_[root].parent = above;
  nodes_[root].function = function;
  nodes_[above].first_child = root;
  children_.emplace(KeyOf(above, function), root);
  // What was in no call stays so.
  std::swap(nodes_[above].counts, nodes_[root].counts);
  nodes_[root].counts.cycles.around_hi +=
      nodes_[above].counts.cycles.enclosed + nodes_[above].counts.cycles.enclosed_hi;
  return above;
}

void CallTree::Forget(uint32_t node) {
  children_.erase(KeyOf(nodes_[node].parent, nodes_[node].function));
  nodes_[node] = {};
  free_.push_back(node);
}

void CallTree::Merge(uint32_t from, uint32_t to, const Moved& moved) {
  std::vector<std::pair<uint32_t, uint32_t>> work{{from, to}};
  while (!work.empty()) {
    const auto [source, target] = work.back();
    work.pop_back();
    nodes_[target].counts.Add(nodes_[source].counts);
    if (moved) moved(source, target);
    for (uint32_t child = nodes_[source].first_child; child != kNone; child = nodes_[child].next)
      work.emplace_back(child, Child(target, nodes_[child].function, true));
    // Its children are looked at later: they keep what they know of themselves.
    for (uint32_t child = nodes_[source].first_child; child != kNone; child = nodes_[child].next)
      children_.erase(KeyOf(source, nodes_[child].function));
    nodes_[source].counts = {};
    free_.push_back(source);
  }
}

std::vector<CallPath> CallTree::Paths(uint64_t most_hi) const {
  std::vector<uint64_t> around;  // CycleCounts::around_hi of each path
  std::vector<CallPath> paths;
  struct Work {
    uint32_t node;
    uint32_t parent;
    uint32_t depth;
  };
  std::vector<Work> work{{0, 0, 0}};
  while (!work.empty()) {
    const Work at = work.back();
    work.pop_back();
    const Node& node = nodes_[at.node];
    const auto number = static_cast<uint32_t>(paths.size());
    CallPath& path = paths.emplace_back();
    path.parent = at.parent;
    path.function = node.function;
    path.depth = at.depth;
    CallSums& sums = path.sums;
    sums.count = node.counts.count;
    sums.partial = node.counts.partial;
    sums.self = node.counts.self;
    sums.self.hi = std::max(std::min(sums.self.hi, most_hi), sums.self.time);
    sums.own = node.counts.own;
    sums.own[static_cast<size_t>(TimeClass::kExecuting)] = sums.self.time;
    sums.executing = sums.self.time;
    for (const uint64_t time : sums.own) sums.total += time;
    sums.self_instructions = sums.instructions = node.counts.instructions;
    sums.durations = node.counts.durations.Take();
    SetCycles(node.counts.cycles, sums);
    around.push_back(node.counts.cycles.around_hi);
    for (uint32_t child = node.first_child; child != kNone; child = nodes_[child].next)
      work.push_back({child, number, at.depth + 1});
  }
  for (size_t i = paths.size(); i-- > 1;) {
    CallSums& parent = paths[paths[i].parent].sums;
    parent.executing += paths[i].sums.executing;
    parent.total += paths[i].sums.total;
    parent.instructions += paths[i].sums.instructions;
    AddInner(paths[i].sums.cycles, parent.cycles);
  }
  for (size_t i = 0; i < paths.size(); ++i) AddSaturated(paths[i].sums.cycles.hi, around[i]);
  return paths;
}

std::vector<CallSums> CallTree::ByFunction(const std::vector<CallPath>& paths,
                                           size_t functions) const {
  std::vector<CallSums> sums = SumsByFunction(paths, functions);
  std::vector<DurationCounts> durations(functions);
  for (const Node& node : nodes_)
    if (node.function != CallPath::kNoFunction) durations[node.function].Add(node.counts.durations);
  for (size_t i = 0; i < functions; ++i) sums[i].durations = durations[i].Take();
  return sums;
}

std::vector<CallSums> SumsByFunction(const std::vector<CallPath>& paths, size_t functions) {
  std::vector<CallSums> all(functions);
  // Whether a path has the function further out: those on the way from the root, in the order of
  // the paths, which is depth first.
  std::vector<uint32_t> on_path(functions, 0);
  std::vector<uint32_t> way;
  for (const CallPath& path : paths) {
    while (way.size() > path.depth) {
      if (way.back() != CallPath::kNoFunction) --on_path[way.back()];
      way.pop_back();
    }
    way.push_back(path.function);
    if (path.function == CallPath::kNoFunction) continue;
    CallSums& sums = all[path.function];
    sums.count += path.sums.count;
    sums.partial += path.sums.partial;
    sums.self.time += path.sums.self.time;
    sums.self.lo += path.sums.self.lo;
    AddSaturated(sums.self.hi, path.sums.self.hi);
    for (size_t i = 0; i < sums.own.size(); ++i) sums.own[i] += path.sums.own[i];
    sums.self_instructions += path.sums.self_instructions;
    AddInner(path.sums.self_cycles, sums.self_cycles);
    if (on_path[path.function]++ != 0) continue;
    sums.total += path.sums.total;
    sums.executing += path.sums.executing;
    sums.instructions += path.sums.instructions;
    AddInner(path.sums.cycles, sums.cycles);
  }
  return all;
}

void CallTree::Add(const CallTree& other, size_t most) {
  std::vector<std::pair<uint32_t, uint32_t>> work{{0, 0}};
  while (!work.empty()) {
    const auto [source, target] = work.back();
    work.pop_back();
    nodes_[target].counts.Add(other.nodes_[source].counts);
    for (uint32_t child = other.nodes_[source].first_child; child != kNone;
         child = other.nodes_[child].next) {
      const uint32_t own = Child(target, other.nodes_[child].function, size() < most);
      work.emplace_back(child, own == kNone ? target : own);
    }
  }
}

}  // namespace flowback
