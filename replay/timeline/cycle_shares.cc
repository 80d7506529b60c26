// SPDX-License-Identifier: MIT
#include "replay/timeline/cycle_shares.h"

#include <algorithm>
#include <set>

namespace flowback {

void CycleShares::Note(uint64_t behind, CycleMark mark, bool counts) {
  active_ = true;
  if (next_ == marks_.size()) {
    marks_.clear();
    next_ = 0;
  }
  marks_.push_back({behind, mark, counts});
}

void CycleShares::Give(uint64_t until, uint32_t node, size_t depth) {
  for (; next_ < marks_.size() && marks_[next_].behind <= until; ++next_) {
    const Mark& mark = marks_[next_];
    Add(node, depth, mark.behind - std::min(given_, mark.behind));
    Close(mark);
    given_ = std::max(given_, mark.behind);
  }
  const uint64_t rest = until - std::min(given_, until);
  // A call that was only passed through encloses what it called all the same.
  if (rest != 0 || !visits_.empty()) Add(node, depth, rest);
  given_ = std::max(given_, until);
}

void CycleShares::Add(uint32_t node, size_t depth, uint64_t instructions) {
  if (!visits_.empty() && visits_.back().node == node) {
    visits_.back().instructions += instructions;
    visits_.back().depth = std::min(visits_.back().depth, depth);
    return;
  }
  visits_.push_back({node, depth, instructions});
  if (visits_.size() % kManyVisits != 0) return;
  Join();
  if (visits_.size() < kMostVisits) return;
  visits_.clear();
  too_many_ = true;
}

// One of each node.
void CycleShares::Join() {
  std::ranges::sort(visits_, {}, &Visit::node);
  size_t last = 0;
  for (size_t i = 1; i < visits_.size(); ++i) {
    if (visits_[i].node != visits_[last].node) {
      visits_[++last] = visits_[i];
      continue;
    }
    visits_[last].instructions += visits_[i].instructions;
    visits_[last].depth = std::min(visits_[last].depth, visits_[i].depth);
  }
  visits_.resize(last + 1);
}

void CycleShares::Close(const Mark& mark) {
  using Since = CycleMark::Since;
  const uint64_t cycles = mark.mark.cycles();
  const Since since = mark.mark.since();
  if (mark.counts && since == Since::kPause) {
    totals_.paused += cycles;
  } else if (mark.counts && since == Since::kBoth) {
    totals_.undivided += cycles;
    if (!too_many_) Bound(cycles);
  } else if (mark.counts && since == Since::kFlow) {
    if (too_many_)
      totals_.undivided += cycles;
    else
      Share(cycles);
  }
  Lose();
}

void CycleShares::Lose() {
  visits_.clear();
  switched_ = too_many_ = false;
}

// The node in which, with what it called, all visits lie. REQUIRES: there are some, joined.
uint32_t CycleShares::Enclosing() const {
  if (switched_) return 0;
  return std::ranges::min_element(visits_, {}, &Visit::depth)->node;
}

void CycleShares::Share(uint64_t cycles) {
  if (visits_.size() > 1) Join();
  uint64_t all = 0;
  for (const Visit& visit : visits_) all += visit.instructions;
  if (all == 0) {
    totals_.undivided += cycles;
    return;
  }
  const uint32_t enclosing = Enclosing();
  const bool alone = visits_.size() == 1;
  tree_.Of(enclosing).cycles.enclosed += cycles;
  uint64_t before = 0;
  uint64_t shared = 0;
  for (const Visit& visit : visits_) {
    CycleCounts& counts = tree_.Of(visit.node).cycles;
    before += visit.instructions;
    const auto until = static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * before / all);
    counts.likely += until - shared;
    shared = until;
    counts.measured += visit.instructions;
    counts.bounded += visit.instructions;
    if (alone) counts.own_lo += cycles;
    if (visit.instructions != 0) counts.own_hi += cycles;
  }
  LimitInner(enclosing, cycles);
}

// Some of them, or none, were of a pause.
void CycleShares::Bound(uint64_t cycles) {
  if (visits_.empty()) return;
  Join();
  const uint32_t enclosing = Enclosing();
  tree_.Of(enclosing).cycles.enclosed_hi += cycles;
  for (const Visit& visit : visits_) {
    CycleCounts& counts = tree_.Of(visit.node).cycles;
    counts.bounded += visit.instructions;
    if (visit.instructions != 0) counts.own_hi += cycles;
  }
  LimitInner(enclosing, cycles);
}

// Calls further in than the enclosing one had no more than these, with what they called. The thread
// went through all of them but where it changed stacks.
void CycleShares::LimitInner(uint32_t enclosing, uint64_t cycles) {
  if (!switched_) {
    for (const Visit& visit : visits_)
      if (visit.node != enclosing) tree_.Of(visit.node).cycles.around_hi += cycles;
    return;
  }
  std::set<uint32_t> inner;
  for (const Visit& visit : visits_) {
    uint32_t node = visit.node;
    while (node != enclosing && node != CallTree::kNone && inner.insert(node).second)
      node = tree_.ParentOf(node);
  }
  for (const uint32_t node : inner) tree_.Of(node).cycles.around_hi += cycles;
}

void CycleShares::MoveIn() {
  for (Visit& visit : visits_) ++visit.depth;
}

CallTree::Moved CycleShares::follows() {
  if (visits_.empty()) return {};
  return [this](uint32_t from, uint32_t to) {
    for (Visit& visit : visits_)
      if (visit.node == from) visit.node = to;
  };
}

}  // namespace flowback
