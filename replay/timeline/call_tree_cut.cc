// SPDX-License-Identifier: MIT
//
// Which call paths a tree keeps when it is cut.
//
// A path costs what its calls took with all that they called. So no path is more expensive than its
// caller's, and the most expensive paths, for any number of them, are a tree. Each path of that
// tree whose callees are not all in it gets one more node, for the calls cut below it:
//
//     main 100                            main 100
//      |- f 60                             |- f 60
//      |   |- h 40          cut to 4       |   `- (cut) 50
//      |   `- k 10          ------->       `- (cut) 30
//      |- g 20
//      `- k 10
//
// Cut paths are added to the sums by function first (function_sums.h).
#include <algorithm>
#include <vector>

#include "replay/timeline/call_tree.h"

namespace flowback {

class CallTree::Cutter {
 public:
  explicit Cutter(CallTree& tree) : tree_(tree) {
    std::vector<uint32_t> roots;
    for (uint32_t node = 0; node < tree.nodes_.size(); ++node)
      if (tree.nodes_[node].used && tree.nodes_[node].parent == kNone) roots.push_back(node);
    walk_ = tree.WalkFrom(std::move(roots));
    kept_.resize(walk_.steps.size());
    hidden_.resize(walk_.steps.size());
    has_cut_.resize(walk_.steps.size());
  }

  void Cut(size_t most, uint32_t deepest, std::span<const uint32_t> pinned) {
    if (walk_.steps.size() <= most && !IsDeeper(deepest)) return;
    Begin(pinned);
    Choose(most, deepest);
    KeepByFunction();
    Fold();
    Unlink();
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  const Step& At(size_t i) const { return walk_.steps[i]; }
  bool IsCut(size_t i) const { return tree_.IsCut(At(i).node); }
  bool IsDeeper(uint32_t deepest) const {
    return std::ranges::any_of(walk_.steps, [&](const Step& step) {
      return step.depth > deepest && !tree_.IsCut(step.node);
    });
  }
  uint64_t WeightOf(size_t i) const {
    return tree_.by_instructions_ ? walk_.inner[i].instructions : walk_.inner[i].total;
  }

  // All but what must stay is hidden.
  void Begin(std::span<const uint32_t> pinned) {
    std::vector<uint32_t> place(tree_.nodes_.size(), kNowhere);
    for (size_t i = 0; i < walk_.steps.size(); ++i) {
      place[At(i).node] = static_cast<uint32_t>(i);
      if (IsCut(i))
        has_cut_[At(i).parent] = true;
      else if (At(i).depth != 0)
        ++hidden_[At(i).parent];
    }
    for (size_t i = 0; i < walk_.steps.size(); ++i)
      if (At(i).depth == 0) Keep(i);
    for (const uint32_t node : pinned)
      for (uint32_t i = place[node]; i != kNowhere && !kept_[i]; i = At(i).parent) Keep(i);
  }

  size_t CutsOf(size_t i) const { return hidden_[i] != 0 || has_cut_[i] ? 1 : 0; }
  // Counts the nodes for cut calls, too: the path may need one more, and its caller one less.
  void Keep(size_t i) {
    kept_[i] = true;
    size_ += 1 + CutsOf(i);
    if (At(i).depth == 0) return;
    const uint32_t parent = At(i).parent;
    const size_t before = CutsOf(parent);
    --hidden_[parent];
    // A pinned path's caller may not have been kept yet.
    if (kept_[parent]) size_ -= before - CutsOf(parent);
  }

  // The most expensive ones first; of two that cost the same the caller, or the one ahead.
  void Choose(size_t most, uint32_t deepest) {
    std::vector<uint32_t> others;
    for (size_t i = 0; i < walk_.steps.size(); ++i)
      if (!kept_[i] && !IsCut(i) && At(i).depth <= deepest)
        others.push_back(static_cast<uint32_t>(i));
    std::ranges::stable_sort(others, std::ranges::greater(),
                             [this](uint32_t i) { return WeightOf(i); });
    for (const uint32_t i : others) {
      if (size_ + CutsOf(i) >= most) return;
      Keep(i);
    }
  }

  bool IsKept(size_t i) const { return IsCut(i) ? kept_[At(i).parent] : kept_[i]; }

  void KeepByFunction() {
    tree_.VisitFunctions(walk_, [this](size_t i, bool is_outermost) {
      if (kept_[i]) return;
      const Node& node = tree_.nodes_[At(i).node];
      tree_.cut_.AddOwn(node.function, OwnSums(node), node.counts.durations);
      if (is_outermost) tree_.cut_.AddOutermost(At(i).root, node.function, walk_.inner[i]);
    });
  }

  // Adds the counts of a cut path to the node below its innermost kept caller.
  void Fold() {
    std::vector<uint32_t> above(walk_.steps.size(), kNowhere);  // that caller's place
    for (size_t i = 0; i < walk_.steps.size(); ++i) {
      if (IsKept(i)) continue;
      const uint32_t parent = At(i).parent;
      above[i] = kept_[parent] ? parent : above[parent];
      const uint32_t cut = tree_.Child(At(above[i]).node, CallPath::kNoFunction);
      tree_.nodes_[cut].counts.AddCut(tree_.nodes_[At(i).node].counts, kept_[parent]);
    }
  }

  void Unlink() {
    for (size_t i = 0; i < walk_.steps.size(); ++i) {
      const uint32_t number = At(i).node;
      if (IsKept(i)) {
        if (hidden_[i] != 0) UnlinkBelow(number);
        continue;
      }
      gone_.push_back(number);
    }
    for (const uint32_t number : gone_) {
      tree_.children_.erase(KeyOf(tree_.nodes_[number].parent, tree_.nodes_[number].function));
      tree_.nodes_[number] = {};
      tree_.free_.push_back(number);
    }
  }

  void UnlinkBelow(uint32_t number) {
    Node& node = tree_.nodes_[number];
    node.last_found = kNone;
    uint32_t* link = &node.first_child;
    while (*link != kNone) {
      Node& child = tree_.nodes_[*link];
      if (stays_.empty()) FillStays();
      if (!stays_[*link])
        *link = child.next;
      else
        link = &child.next;
    }
  }

  void FillStays() {
    stays_.resize(tree_.nodes_.size(), true);  // what was made since the walk stays
    for (size_t i = 0; i < walk_.steps.size(); ++i)
      if (!IsKept(i)) stays_[At(i).node] = false;
  }

  CallTree& tree_;
  Walk walk_;
  std::vector<bool> kept_;        // of each step
  std::vector<uint32_t> hidden_;  // callees that are not kept
  std::vector<bool> has_cut_;     // had callees that were cut earlier
  size_t size_ = 0;               // nodes that there will be
  std::vector<uint32_t> gone_;
  std::vector<bool> stays_;  // of each node
};

void CallTree::Cut(size_t most, uint32_t deepest, std::span<const uint32_t> pinned) {
  Cutter(*this).Cut(most, deepest, pinned);
}

uint64_t CallTree::CutCalls() const {
  uint64_t calls = 0;
  for (uint32_t node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].used && IsCut(node)) calls += nodes_[node].counts.count;
  return calls;
}

}  // namespace flowback
