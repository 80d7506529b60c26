// SPDX-License-Identifier: MIT
#include "replay/locks/holders/hold_activity.h"

namespace flowback {

void HoldActivity::Begin(uint32_t thread, uint32_t node, size_t depth, uint64_t time) {
  if (kept_ >= kMostMoves) return;
  if (thread >= moves_.size()) moves_.resize(thread + size_t{1});
  thread_ = thread;
  first_ = moves_[thread].size();
  deepest_ = paths_.nodes()[node].depth + kDeepest;
  followed_ = depth + kDeepest + 1;
  Move(node, time);
}

// Returns the innermost followed call around the node's, or itself.
uint32_t HoldActivity::Cut(uint32_t node) const {
  const std::vector<InstancePath>& nodes = paths_.nodes();
  while (nodes[node].depth > deepest_) node = nodes[node].parent;
  return node;
}

void HoldActivity::Move(uint32_t node, uint64_t time) {
  if (followed_ == 0) return;
  std::vector<At>& moves = moves_[thread_];
  node = Cut(node);
  if (moves.size() > first_ && moves.back().node == node) return;
  const uint64_t from = moves.empty() ? time : std::max(time, moves.back().time);
  if (moves.size() > first_ && moves.back().time == from) {
    moves.back().node = node;
    return;
  }
  moves.push_back({from, node});
  ++kept_;
  if (moves.size() - first_ > kMostOfHold && deepest_ > 1) LeaveOutInner();
}

void HoldActivity::LeaveOutInner() {
  std::vector<At>& moves = moves_[thread_];
  const size_t before = moves.size();
  while (deepest_ > 1 && moves.size() - first_ > kMostOfHold / 2) {
    --deepest_;
    if (followed_ > 1) --followed_;
    for (size_t i = first_; i < moves.size(); ++i) moves[i].node = Cut(moves[i].node);
    const auto is_same = [](const At& a, const At& b) { return a.node == b.node; };
    moves.erase(std::unique(moves.begin() + static_cast<ptrdiff_t>(first_), moves.end(), is_same),
                moves.end());
  }
  kept_ -= before - moves.size();
}

void HoldActivity::End(uint64_t time) {
  if (followed_ == 0) return;
  std::vector<At>& moves = moves_[thread_];
  moves.push_back({std::max(time, moves.back().time), PathTree::kRoot});
  ++kept_;
  followed_ = 0;
}

}  // namespace flowback
