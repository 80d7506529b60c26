// SPDX-License-Identifier: MIT
// What an operand and an address of a step are, where the values of registers are known.
#pragma once

#include <cstdint>
#include <optional>

#include "decode/instruction/effects.h"

namespace flowback {

constexpr uint64_t LowBits(uint64_t value, unsigned bits) {
  constexpr unsigned kWordBits = 64;
  return bits >= kWordBits ? value : value & ((uint64_t{1} << bits) - 1);
}

// `of` returns the whole value of a register's operand. Empty: it is not known.
template <class RegisterValue>
std::optional<uint64_t> StepValue(const StepOperand& operand, const RegisterValue& of) {
  if (operand.kind == StepOperand::Kind::kConstant) return operand.constant;
  if (operand.kind == StepOperand::Kind::kNone) return 0;
  const std::optional<uint64_t> value = of(operand);
  return value ? std::optional(LowBits(*value >> operand.shift, operand.bits)) : std::nullopt;
}

// Empty: a part of it is not known.
template <class RegisterValue>
std::optional<uint64_t> StepAddressValue(const StepAddress& memory, const RegisterValue& of) {
  const auto base = StepValue(memory.base, of), index = StepValue(memory.index, of),
             segment = StepValue(memory.segment, of);
  if (!base || !index || !segment) return std::nullopt;
  return LowBits(*base + *index * memory.scale + memory.displacement, memory.bits) + *segment;
}

}  // namespace flowback
