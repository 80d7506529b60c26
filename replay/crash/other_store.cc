// SPDX-License-Identifier: MIT
#include "replay/crash/other_store.h"

#include "decode/instruction/effects.h"

namespace flowback {
namespace {

constexpr uint64_t kWordBytes = 8;

class StoreReader {
 public:
  StoreReader(const values::ValueHistory& history, size_t point)
      : history_(history), point_(point) {}

  std::optional<uint64_t> ValueOf(const StepOperand& operand) const {
    if (operand.kind == StepOperand::Kind::kConstant) return operand.constant;
    if (operand.kind == StepOperand::Kind::kNone) return 0;
    const bool is_followed = operand.number < step_register::kVector ||
                             operand.number == step_register::kFsBase ||
                             operand.number == step_register::kGsBase;
    const auto value = is_followed ? history_.Register(point_, operand.number) : std::nullopt;
    return value ? std::optional(Low(*value >> operand.shift, operand.bits)) : std::nullopt;
  }
  std::optional<uint64_t> AddressOf(const StepAddress& memory) const {
    const auto base = ValueOf(memory.base), index = ValueOf(memory.index),
               segment = ValueOf(memory.segment);
    if (!base || !index || !segment) return std::nullopt;
    return Low(*base + *index * memory.scale + memory.displacement, memory.bits) + *segment;
  }
  static uint64_t Low(uint64_t value, unsigned bits) {
    constexpr unsigned kWordBits = 64;
    return bits >= kWordBits ? value : value & ((uint64_t{1} << bits) - 1);
  }

 private:
  const values::ValueHistory& history_;
  const size_t point_;
};

// A store of so many bytes at an address gives the bytes that it meets of the eight at `wanted`
// what `value` has there.
bool Gives(uint64_t at, uint64_t bytes, uint64_t stored, uint64_t wanted, uint64_t value) {
  constexpr unsigned kByteBits = 8;
  for (uint64_t i = 0; i < bytes; ++i) {
    const uint64_t place = at + i - wanted;
    if (place >= kWordBytes) continue;
    const auto of_value = static_cast<uint8_t>(value >> (place * kByteBits));
    if (i >= kWordBytes || static_cast<uint8_t>(stored >> (i * kByteBits)) != of_value)
      return false;
  }
  return true;
}

}  // namespace

std::optional<FoundStore> LastStoreOf(const PastValues::Place& place, uint64_t address,
                                      uint64_t value) {
  // Words of eight bytes.
  if (place.history.path().mode != CodeMode::kX86_64) return std::nullopt;
  const std::vector<values::PathInstruction>& path = place.history.path().instructions;
  InstructionEffects effects;
  for (size_t point = place.point; point-- > 0;) {
    const values::PathInstruction& one = path[point];
    if (!EffectsOf({one.bytes.data(), one.length}, one.address, one.mode, effects)) continue;
    const StoreReader reader(place.history, point);
    for (const MachineStep& step : effects.steps) {
      if (step.kind != StepKind::kStore && step.kind != StepKind::kStoreIf) continue;
      const auto at = reader.AddressOf(step.memory);
      const uint64_t bytes = step.bits;
      if (!at || (*at - address >= kWordBytes && address - *at >= bytes)) continue;
      const auto stored = reader.ValueOf(step.a);
      const bool gives =
          step.kind == StepKind::kStore && stored && Gives(*at, bytes, *stored, address, value);
      return gives ? std::optional(FoundStore{place.first + point, one.address}) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace flowback
