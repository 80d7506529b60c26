// SPDX-License-Identifier: MIT
//
// A caller that was not seen calling is found when control returns to it. All calls so far happened
// in it, so the old root becomes its node, and a new root goes above:
//
//     root                     new root
//      |- f                      |- caller   (was root)
//      |- g          ->          |    |- f
//                                |    |- g
//
// No child moves. When the flow ends, or is lost, the tree so far is added to the thread's tree,
// path by path.
#include "replay/timeline/call_tree.h"

#include <algorithm>
#include <utility>

#include "base/saturated.h"

namespace flowback {
namespace {

uint64_t Untold(const NodeCounts& counts) {
  return counts.instructions - std::min(counts.instructions, counts.cycles.bounded);
}

CycleShare OwnCycles(const NodeCounts& counts) {
  return {.instructions = counts.cycles.measured,
          .likely = counts.cycles.likely,
          .lo = counts.cycles.own_lo,
          .hi = counts.cycles.own_hi,
          .untold = Untold(counts)};
}

// What a node adds to the sums of its callers, and to its own.
InnerSums InnerOf(const NodeCounts& counts) {
  InnerSums sums{.total = counts.self.time,
                 .executing = counts.self.time,
                 .instructions = counts.instructions,
                 .cycles = {.instructions = counts.cycles.measured,
                            .likely = counts.cycles.likely,
                            .lo = counts.cycles.enclosed,
                            .hi = counts.cycles.enclosed + counts.cycles.enclosed_hi,
                            .untold = Untold(counts)}};
  for (const TimeClass kind : kAllTimeClasses)
    if (kind != TimeClass::kExecuting) sums.total += counts.own[static_cast<size_t>(kind)];
  return sums;
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

void NodeCounts::AddSums(const NodeCounts& other) {
  count += other.count;
  partial += other.partial;
  self.time += other.self.time;
  self.lo += other.self.lo;
  AddSaturated(self.hi, other.self.hi);
  for (size_t i = 0; i < own.size(); ++i) own[i] += other.own[i];
  instructions += other.instructions;
  cycles.Add(other.cycles);
}

void NodeCounts::Add(const NodeCounts& other) {
  AddSums(other);
  durations.Add(other.durations);
}

void NodeCounts::AddCut(const NodeCounts& other, bool outer) {
  const uint64_t around = cycles.around_hi;
  AddSums(other);
  // What a call's caller has enclosed is in the caller's sums already.
  if (!outer) cycles.around_hi = around;
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
  nodes_[number].used = true;
  if (function != CallPath::kNoFunction) functions_ = std::max<size_t>(functions_, function + 1);
  return number;
}

uint32_t CallTree::Child(uint32_t parent, uint32_t function) {
  // A loop calls the same few functions again and again.
  const uint32_t last = LastChild(parent, function);
  if (last != kNone) return last;
  const uint64_t key = KeyOf(parent, function);
  if (const auto found = children_.find(key); found != children_.end())
    return nodes_[parent].last_found = found->second;
  const uint32_t child = New(parent, function);
  nodes_[child].at_least = CutUnder(parent) != kNone;
  nodes_[child].next = nodes_[parent].first_child;
  nodes_[parent].first_child = child;
  children_.emplace(key, child);
  return child;
}

uint32_t CallTree::PutUnder(uint32_t root, uint32_t function) {
  const uint32_t above = NewRoot();
  functions_ = std::max<size_t>(functions_, function + 1);
  cut_.PutUnder(root, function, above);
  nodes_[root].parent = above;
  nodes_[root].function = function;
  nodes_[above].first_child = root;
  children_.emplace(KeyOf(above, function), root);
  // Time in no call stays so.
  std::swap(nodes_[above].counts, nodes_[root].counts);
  nodes_[root].counts.cycles.around_hi +=
      nodes_[above].counts.cycles.enclosed + nodes_[above].counts.cycles.enclosed_hi;
  return above;
}

// Where calls of paths below `source` were cut, they may have been calls of `target`'s paths.
void CallTree::NoteUnsure(const CallTree& other, uint32_t source, uint32_t target) {
  if (other.CutUnder(source) == kNone) return;
  for (uint32_t child = nodes_[target].first_child; child != kNone; child = nodes_[child].next)
    if (!other.children_.contains(KeyOf(source, nodes_[child].function)))
      nodes_[child].at_least = true;
}

void CallTree::Merge(uint32_t from, uint32_t to, const Moved& moved) {
  cut_.Merge(from, to);
  std::vector<std::pair<uint32_t, uint32_t>> work{{from, to}};
  while (!work.empty()) {
    const auto [source, target] = work.back();
    work.pop_back();
    nodes_[target].counts.Add(nodes_[source].counts);
    nodes_[target].at_least |= nodes_[source].at_least;
    if (moved) moved(source, target);
    NoteUnsure(*this, source, target);
    for (uint32_t child = nodes_[source].first_child; child != kNone; child = nodes_[child].next)
      work.emplace_back(child, Child(target, nodes_[child].function));
    // Its children are looked at later: they keep what they know of themselves.
    for (uint32_t child = nodes_[source].first_child; child != kNone; child = nodes_[child].next)
      children_.erase(KeyOf(source, nodes_[child].function));
    nodes_[source].counts = {};
    nodes_[source].used = false;
    free_.push_back(source);
  }
}

void CallTree::Add(const CallTree& other) {
  std::vector<std::pair<uint32_t, uint32_t>> work{{0, 0}};
  while (!work.empty()) {
    const auto [source, target] = work.back();
    work.pop_back();
    nodes_[target].counts.Add(other.nodes_[source].counts);
    nodes_[target].at_least |= other.nodes_[source].at_least;
    NoteUnsure(other, source, target);
    for (uint32_t child = other.nodes_[source].first_child; child != kNone;
         child = other.nodes_[child].next)
      work.emplace_back(child, Child(target, other.nodes_[child].function));
  }
}

CallTree::Walk CallTree::WalkFrom(std::vector<uint32_t> roots) const {
  Walk walk;
  std::vector<Step> work;
  std::ranges::reverse(roots);
  for (const uint32_t root : roots) work.push_back({.node = root, .root = root});
  while (!work.empty()) {
    Step step = work.back();
    work.pop_back();
    const auto place = static_cast<uint32_t>(walk.steps.size());
    if (step.depth == 0) step.parent = place;
    walk.steps.push_back(step);
    walk.inner.push_back(InnerOf(nodes_[step.node].counts));
    for (uint32_t child = nodes_[step.node].first_child; child != kNone; child = nodes_[child].next)
      work.push_back({child, place, step.root, step.depth + 1});
  }
  for (size_t i = walk.steps.size(); i-- > 0;)
    if (walk.steps[i].depth != 0) walk.inner[walk.steps[i].parent].Add(walk.inner[i]);
  for (size_t i = 0; i < walk.steps.size(); ++i)
    AddSaturated(walk.inner[i].cycles.hi, nodes_[walk.steps[i].node].counts.cycles.around_hi);
  return walk;
}

CallSums CallTree::OwnSums(const Node& node) {
  CallSums sums;
  sums.count = node.counts.count;
  sums.partial = node.counts.partial;
  sums.self = node.counts.self;
  sums.own = node.counts.own;
  sums.own[static_cast<size_t>(TimeClass::kExecuting)] = sums.self.time;
  sums.self_instructions = node.counts.instructions;
  sums.self_cycles = OwnCycles(node.counts);
  return sums;
}

std::vector<CallPath> CallTree::Paths(uint64_t most_hi) const {
  const Walk walk = WalkFrom({0});
  std::vector<CallPath> paths;
  paths.reserve(walk.steps.size());
  for (size_t i = 0; i < walk.steps.size(); ++i) {
    const Step& step = walk.steps[i];
    const Node& node = nodes_[step.node];
    CallPath& path = paths.emplace_back();
    path.parent = step.parent;
    path.function = node.function;
    path.depth = step.depth;
    path.is_cut = IsCut(step.node);
    path.at_least = node.at_least || paths[step.parent].at_least;
    path.sums = OwnSums(node);
    path.sums.self.hi = std::max(std::min(path.sums.self.hi, most_hi), path.sums.self.time);
    path.sums.durations = node.counts.durations.Take();
    walk.inner[i].AddTo(path.sums);
  }
  return paths;
}

// `visit(place, is_outermost)` for each step that has a function, in order: whether it is called by
// itself on no way.
void CallTree::VisitFunctions(
    const Walk& walk, const std::function<void(size_t step, bool is_outermost)>& visit) const {
  std::vector<uint32_t> on_way(functions_, 0);
  std::vector<uint32_t> way;
  for (size_t i = 0; i < walk.steps.size(); ++i) {
    while (way.size() > walk.steps[i].depth) {
      if (way.back() != CallPath::kNoFunction) --on_way[way.back()];
      way.pop_back();
    }
    const uint32_t function = nodes_[walk.steps[i].node].function;
    way.push_back(function);
    if (function != CallPath::kNoFunction) visit(i, on_way[function]++ == 0);
  }
}

void CallTree::AddByFunction(std::vector<CallSums>& sums,
                             std::vector<DurationCounts>& durations) const {
  const Walk walk = WalkFrom({0});
  VisitFunctions(walk, [&](size_t i, bool is_outermost) {
    const Node& node = nodes_[walk.steps[i].node];
    CallSums more = OwnSums(node);
    if (is_outermost) walk.inner[i].AddTo(more);
    AddSums(more, sums[node.function]);
    durations[node.function].Add(node.counts.durations);
  });
  cut_.AddTo(sums, durations);
}

std::vector<CallSums> CallTree::ByFunction(size_t functions) const {
  std::vector<CallSums> sums(functions);
  std::vector<DurationCounts> durations(functions);
  AddByFunction(sums, durations);
  for (size_t i = 0; i < functions; ++i) sums[i].durations = durations[i].Take();
  return sums;
}

}  // namespace flowback
