// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/branch_table.h"

#include <utility>

#include "base/mix_bits.h"

namespace flowback {
namespace {

bool IsIndirectJump(InstructionClass last) { return last == InstructionClass::kIndirectJump; }

}  // namespace

size_t BranchTable::Hash::operator()(const Key& key) const {
  uint64_t hash = reinterpret_cast<uintptr_t>(key.section) ^ key.place << 7 ^ key.way << 1;
  hash ^= hash >> 32;
  hash = MixBits(hash);
  return hash ^ hash >> 32;
}

BranchTable::Key BranchTable::PlaceOf(const AddressSpace* space, uint64_t address) {
  const CodeMapping* const mapping = space == nullptr ? nullptr : space->Find(address);
  if (mapping == nullptr) return {.section = space, .place = address};
  return {.section = mapping->section.get(), .place = address - mapping->FileBase()};
}

uint32_t BranchTable::Find(const BranchWay& edge) {
  Key key = PlaceOf(edge.space, edge.address);
  key.way = edge.indirect ? PlaceOf(edge.space, edge.target).place << 1 : uint64_t{edge.taken};
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) return known->second;
  if (edges_.size() >= kMostEdges) return kNoEdge;
  const auto number = static_cast<uint32_t>(edges_.size());
  edges_.push_back(edge);
  numbers_.emplace(key, number);
  if (edge.indirect) return number;
  key.way ^= 1;
  if (const auto other = numbers_.find(key); other != numbers_.end()) {
    edges_[number].other = other->second;
    edges_[other->second].other = number;
  }
  return number;
}

uint32_t BranchTable::AskStep(const BlockTable& table, BlockStep step, uint64_t next) {
  if (last_table_ != &table) {
    last_table_ = &table;
    last_ = &tables_[&table];
  }
  std::vector<uint32_t>& known = last_->steps;
  if (step.value >= known.size()) known.resize(2 * table.size());
  uint32_t& answer = known[step.value];
  if (answer >= kFirstEdge) return answer - kFirstEdge;
  if (answer == kNoBranch) return kNoEdge;
  if (answer == kIndirect) return OfJump(table, step, next);
  const CodeBlock& block = table[step.number()];
  if (block.last != InstructionClass::kConditional) {
    answer = IsIndirectJump(block.last) ? kIndirect : kNoBranch;
    return answer == kIndirect ? OfJump(table, step, next) : kNoEdge;
  }
  const uint32_t edge = Find({.address = block.LastAddress(),
                              .target = next,
                              .space = &table.space(),
                              .taken = step.taken()});
  answer = edge == kNoEdge ? kNoBranch : edge + kFirstEdge;
  return edge;
}

uint32_t BranchTable::OfJump(const BlockTable& table, BlockStep step, uint64_t next) {
  Jump& jump = jumps_[(next ^ next >> 10 ^ step.value) % kJumps];
  if (jump.table == &table && jump.step == step.value && jump.next == next) return jump.edge;
  const uint32_t edge = Find({.address = table[step.number()].LastAddress(),
                              .target = next,
                              .space = &table.space(),
                              .taken = step.taken(),
                              .indirect = true});
  jump = {.table = &table, .step = step.value, .edge = edge, .next = next};
  return edge;
}

uint32_t BranchTable::OfRun(const BlockRun& run) {
  const bool indirect = IsIndirectJump(run.last) && run.exit == BlockExit::kTaken;
  const bool conditional = run.last == InstructionClass::kConditional &&
                           (run.exit == BlockExit::kTaken || run.exit == BlockExit::kNotTaken);
  if (!indirect && !conditional) return kNoEdge;
  return Find({.address = run.LastAddress(),
               .target = run.next,
               .space = run.space,
               .taken = run.exit == BlockExit::kTaken,
               .indirect = indirect});
}

}  // namespace flowback
