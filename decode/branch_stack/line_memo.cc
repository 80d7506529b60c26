// SPDX-License-Identifier: MIT
#include "decode/branch_stack/line_memo.h"

#include <utility>

namespace flowback::branch_stack {
namespace {

constexpr size_t kFirstSlots = 1024;

}  // namespace

LineMemo::LineMemo() : slots_(kFirstSlots), mask_(kFirstSlots - 1), lines_(1) {}

uint32_t LineMemo::CodeNumber(const flow::BlockGraph& usual, bool names_compare) {
  const auto next = static_cast<uint32_t>(codes_.size());
  return codes_.emplace(std::pair(&usual, names_compare), next).first->second;
}

const KnownLine* LineMemo::Add(const Key& key, flow::BlockGraph& graph, const StraightLine& line) {
  if (lines_.size() > kMostLines || passed_.size() + line.passed.size() > kMostPassed)
    return nullptr;
  if (2 * lines_.size() > slots_.size()) Grow();
  KnownLine known;
  known.graph = &graph;
  known.node = line.node;
  known.number = static_cast<uint32_t>(lines_.size());
  known.passed = static_cast<uint32_t>(passed_.size());
  known.passed_count = static_cast<uint32_t>(line.passed.size());
  passed_.insert(passed_.end(), line.passed.begin(), line.passed.end());
  size_t at = SlotOf(key);
  while (slots_[at].line != 0) at = (at + 1) & mask_;
  slots_[at] = {key.begin, key.from, key.to, key.code, known.number};
  lines_.push_back(known);
  return &lines_.back();
}

void LineMemo::Grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.line == 0) continue;
    size_t at = SlotOf(slot.key());
    while (slots_[at].line != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

}  // namespace flowback::branch_stack
