// SPDX-License-Identifier: MIT
#include "replay/locks/call_arguments.h"

#include <vector>

#include "decode/instruction/effects.h"
#include "replay/locks/trip_state.h"
#include "replay/locks/trip_values.h"

namespace flowback {
namespace {

constexpr uint64_t kOperationBits = 0x7f;

// By which registers calls are made.
struct Registers {
  uint8_t number = 0;
  uint8_t second = 0;
};

Registers RegistersOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return {.number = 8, .second = 1};
  if (mode == CodeMode::kX86_64) return {.number = 0, .second = 6};
  return {.number = 0, .second = 1};
}

// All but the last instruction of the last part, which is the call itself.
std::vector<TripInstruction> InstructionsBefore(std::span<const TripPart> parts) {
  std::vector<TripInstruction> instructions;
  for (const TripPart& part : parts)
    for (size_t at = 0; at < part.code.size();) {
      InstructionEffects effects;
      if (!EffectsOf(part.code.subspan(at), part.address + at, part.mode, effects) ||
          effects.length == 0)
        return {};
      instructions.push_back({.address = part.address + at, .steps = std::move(effects.steps)});
      at += effects.length;
    }
  if (!instructions.empty()) instructions.pop_back();
  return instructions;
}

bool IsNoneOf(const TripValue& value, uint64_t bits) { return (value.zeros & bits) == bits; }

// What the lowest bits of a value are if what is mixed with them by constants has others.
std::optional<uint8_t> OperationOf(const TripValues& values, ValueId id) {
  const TripValue& value = values[id];
  if (((value.ones | value.zeros) & kOperationBits) == kOperationBits)
    return value.ones & kOperationBits;
  if (value.kind != ValueKind::kComputed) return std::nullopt;
  const std::optional<uint64_t> a = values.ConstantOf(value.a);
  const std::optional<uint64_t> b = values.ConstantOf(value.b);
  switch (value.operation) {
    case StepOperation::kAnd:
      if (b && (*b & kOperationBits) == kOperationBits) return OperationOf(values, value.a);
      if (a && (*a & kOperationBits) == kOperationBits) return OperationOf(values, value.b);
      return std::nullopt;
    case StepOperation::kXor:
    case StepOperation::kOr:
      if (IsNoneOf(values[value.a], kOperationBits)) return OperationOf(values, value.b);
      if (IsNoneOf(values[value.b], kOperationBits)) return OperationOf(values, value.a);
      if (a) return *a & kOperationBits;
      if (b) return *b & kOperationBits;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

CallArguments ArgumentsOf(std::span<const TripPart> parts) {
  if (parts.empty()) return {};
  const CodeMode mode = parts.back().mode;
  TripValues values;
  TripState state(values, mode);
  TripLog log;
  state.Execute(InstructionsBefore(parts), false, {}, log);
  const Registers registers = RegistersOf(mode);
  CallArguments arguments;
  const auto number = values.ConstantOf(values.Bits(state.RegisterValue(registers.number), 32));
  if (number) arguments.number = static_cast<uint32_t>(*number);
  arguments.operation = OperationOf(values, state.RegisterValue(registers.second));
  return arguments;
}

}  // namespace flowback
