// SPDX-License-Identifier: MIT
#include "replay/locks/loops/step_graph.h"

#include <algorithm>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

// No block is longer: it has 256 instructions at most.
constexpr uint64_t kLongestBlock = 256 * 15;

}  // namespace

uint64_t StepGraph::TargetOf(const LoopBlock& block) {
  const bool jumps = block.last == InstructionClass::kConditional ||
                     block.last == InstructionClass::kJump || block.last == InstructionClass::kCall;
  if (!jumps || block.code.empty() || block.lengths.empty()) return 0;
  const uint64_t at = block.end - block.lengths.back();
  Instruction branch;
  return Classify(block.code.last(block.lengths.back()), block.mode, branch) ? branch.Target(at)
                                                                             : 0;
}

void StepGraph::Add(const LoopBlock& block, uint8_t ways) {
  Node& node = nodes_[&block];
  if ((node.ways & ways) == ways) return;
  ++changes_;
  if (node.block == nullptr) {
    node.block = &block;
    node.target = TargetOf(block);
    by_begin_[{block.space, block.address}].push_back(&node);
  }
  node.ways |= ways;
  if (!block.lengths.empty()) left_[{block.space, block.end - block.lengths.back()}] |= ways;
}

bool StepGraph::MayEndTrip(const LoopBlock& block) {
  if (block.InstructionAt(block.target)) return true;
  Node& node = nodes_[&block];
  if (node.asked_at == changes_) return false;
  Search search{.end = &block, .seen = {}, .open = {}};
  GoTo(search, block.space, block.target);
  // The flow may have come to the target from ahead of it, within a block.
  const uint64_t first = block.target - std::min(block.target, kLongestBlock);
  GoInto(search, block.space, first, block.target);
  if (Run(search)) return true;
  node.asked_at = changes_;
  return false;
}

bool StepGraph::Run(Search& search) {
  while (!search.found && !search.open.empty()) {
    const Node& next = *search.open.back();
    search.open.pop_back();
    GoOn(search, next);
  }
  return search.found;
}

// If a function is come to again within itself, that is no way which a shorter one would not be.
bool StepGraph::MayReturn(const AddressSpace* space, uint64_t entry) {
  const Place place{space, entry};
  if (std::ranges::find(within_, place) != within_.end()) {
    cut_ = true;
    return false;
  }
  if (within_.size() == kMostWithin) return true;
  if (const auto known = returning_.find(place);
      known != returning_.end() && known->second.asked_at == changes_)
    return known->second.may;
  const bool cut_before = std::exchange(cut_, false);
  within_.push_back(place);
  Search search;
  GoTo(search, space, entry);
  const bool may = Run(search);
  within_.pop_back();
  if (may || !cut_) returning_[place] = {.asked_at = changes_, .may = may};
  cut_ = !within_.empty() && (cut_ || cut_before);
  return may;
}

// To the blocks that begin there.
void StepGraph::GoTo(Search& search, const AddressSpace* space, uint64_t address) const {
  const auto found = by_begin_.find({space, address});
  if (found == by_begin_.end()) return;
  for (const Node* node : found->second) Visit(search, *node);
}

// To blocks that begin in the half-open range and reach beyond its end.
void StepGraph::GoInto(Search& search, const AddressSpace* space, uint64_t begin,
                       uint64_t end) const {
  for (auto at = by_begin_.lower_bound({space, begin}); at != by_begin_.end(); ++at) {
    if (at->first.first != space || at->first.second >= end) return;
    for (const Node* node : at->second)
      if (node->block->end > end) Visit(search, *node);
  }
}

void StepGraph::Visit(Search& search, const Node& node) const {
  const LoopBlock& block = *node.block;
  if (&block == search.end || search.seen.size() == kMostSeen) {
    search.found = true;
    return;
  }
  if (block.stores && !block.is_linker) return;
  if (search.seen.insert(&node).second) search.open.push_back(&node);
}

void StepGraph::GoOn(Search& search, const Node& node) {
  const LoopBlock& block = *node.block;
  if ((node.ways & step_way::kMiddle) != 0)
    for (auto at = by_begin_.upper_bound({block.space, block.address});
         at != by_begin_.end() && at->first.first == block.space && at->first.second < block.end;
         ++at)
      GoTo(search, block.space, at->first.second);
  if ((node.ways & step_way::kOn) != 0) GoTo(search, block.space, block.end);
  if ((node.ways & step_way::kTaken) == 0) return;
  switch (block.last) {
    case InstructionClass::kConditional:
    case InstructionClass::kJump:
      if (!block.is_work()) GoTo(search, block.space, node.target);
      return;
    case InstructionClass::kReturn:
      search.found = search.found || search.end == nullptr;
      return;
    case InstructionClass::kIndirectJump:
    case InstructionClass::kFarJump:
      search.found = true;
      return;
    case InstructionClass::kCall:
      return GoOverCall(search, node);
    default:
      GoTo(search, block.space, block.end);
  }
}

void StepGraph::GoOverCall(Search& search, const Node& node) {
  const LoopBlock& block = *node.block;
  if (node.target == 0 || MayReturn(block.space, node.target)) GoTo(search, block.space, block.end);
}

}  // namespace flowback
