// SPDX-License-Identifier: MIT
#include "replay/coverage/register_values.h"

#include <algorithm>
#include <unordered_set>

namespace flowback {

const Computation& RegisterValues::At(uint64_t address) {
  constexpr size_t kMostKept = 1 << 16;
  if (known_.size() > kMostKept) known_.clear();
  const auto [known, is_new] = known_.try_emplace(address);
  if (is_new) known->second = ComputationOf(flow_.CodeAt(address), address, flow_.mode());
  return known->second;
}

uint64_t RegisterValues::Before(uint64_t address) const {
  for (unsigned back = 1; back <= kLongestInstruction && back <= address; ++back) {
    if (flow_.LengthAt(address - back) != back) continue;
    const InstructionClass kind = flow_.KindAt(address - back);
    const bool goes_on = kind != InstructionClass::kJump && kind != InstructionClass::kReturn &&
                         kind != InstructionClass::kIndirectJump &&
                         kind != InstructionClass::kFarJump && kind != InstructionClass::kFarReturn;
    if (goes_on) return address - back;
  }
  return 0;
}

std::vector<uint64_t> RegisterValues::Definitions(uint8_t reg, uint64_t address) {
  std::vector<uint64_t> found;
  if (reg == kNoRegister) return found;
  std::vector<uint64_t> open = {address};
  std::unordered_set<uint64_t> seen;
  const auto come_from = [&](uint64_t source) {
    if (!seen.insert(source).second) return;
    if ((At(source).writes >> reg & 1) != 0)
      found.push_back(source);
    else
      open.push_back(source);
  };
  while (!open.empty()) {
    const uint64_t place = open.back();
    open.pop_back();
    const uint64_t before = Before(place);
    if (before != 0) come_from(before);
    auto jump = std::ranges::lower_bound(jumps_, place, {}, &CodeFlow::Jump::target);
    if (before == 0 && (jump == jumps_.end() || jump->target != place)) return {};
    for (; jump != jumps_.end() && jump->target == place; ++jump) come_from(jump->source);
    if (seen.size() > kMostSteps) return {};
  }
  return found;
}

std::optional<uint64_t> RegisterValues::Address(const MemoryAddress& memory, uint64_t place,
                                                unsigned depth) {
  if (memory.index != kNoRegister) return std::nullopt;
  if (memory.base == kNoRegister) return memory.displacement;
  std::optional<uint64_t> base = Constant(memory.base, place, depth);
  if (!base && assumed_base_ != 0) base = assumed_base_;
  if (!base) return std::nullopt;
  return (*base + memory.displacement) & TraitsOf(flow_.mode()).address_mask;
}

std::optional<uint64_t> RegisterValues::Constant(uint8_t reg, uint64_t address, unsigned depth) {
  std::optional<uint64_t> value;
  if (depth == 0) return value;
  for (const uint64_t definition : Definitions(reg, address)) {
    const Computation computed = At(definition);
    std::optional<uint64_t> one;
    if (computed.to != reg) return std::nullopt;
    if (computed.operation == Operation::kConstant) one = computed.constant;
    if (computed.operation == Operation::kCopy && computed.bits >= 32)
      one = Constant(computed.from, definition, depth - 1);
    if (computed.operation == Operation::kAddress)
      one = Address(computed.memory, definition, depth - 1);
    if (!one || (value && *value != *one)) return std::nullopt;
    value = one;
  }
  return value;
}

}  // namespace flowback
