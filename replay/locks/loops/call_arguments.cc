// SPDX-License-Identifier: MIT
#include "replay/locks/loops/call_arguments.h"

#include <utility>
#include <vector>

#include "replay/locks/loops/trip_reading.h"
#include "replay/locks/loops/trip_state.h"
#include "replay/locks/loops/trip_values.h"

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
  ReadTrip trip = ReadTripParts(parts);
  if (trip.failed != LoopReason::kNone || trip.instructions.empty()) return {};
  trip.instructions.pop_back();
  return std::move(trip.instructions);
}

// Returns the lowest bits of a value if they are known, even if the others are not.
std::optional<uint8_t> KnownOperation(const TripValue& value) {
  if (((value.ones | value.zeros) & kOperationBits) != kOperationBits) return std::nullopt;
  return value.ones & kOperationBits;
}

// Whether a value was loaded, in full or in part.
bool IsLoaded(const TripValues& values, ValueId id) {
  const TripValue& value = values[id];
  if (value.kind == ValueKind::kMemory) return true;
  if (value.kind != ValueKind::kComputed) return false;
  if (value.operation == StepOperation::kCopy) return IsLoaded(values, value.a);
  return value.operation == StepOperation::kAnd &&
         (IsLoaded(values, value.a) || IsLoaded(values, value.b));
}

std::optional<uint8_t> OperationOf(const TripValues& values, ValueId id);

// Programs load flags, and have the operation in their code: what was loaded has flags alone. An
// operation of 0 is not seen where something else is unknown.
std::optional<uint8_t> OperationWith(const TripValues& values, const TripValue& mixed,
                                     ValueId known, ValueId other) {
  const std::optional<uint8_t> operation = KnownOperation(values[known]);
  if (!operation) return std::nullopt;
  if (*operation != 0) return operation;
  const bool is_flag = mixed.operation == StepOperation::kXor && IsLoaded(values, other);
  return is_flag ? operation : OperationOf(values, other);
}

// Returns the lowest bits of a value, if the values mixed with them have only other bits.
std::optional<uint8_t> OperationOf(const TripValues& values, ValueId id) {
  const TripValue& value = values[id];
  if (const auto known = KnownOperation(value)) return known;
  if (value.kind != ValueKind::kComputed) return std::nullopt;
  const auto keeps = [&](ValueId mask) {
    const std::optional<uint64_t> bits = values.ConstantOf(mask);
    return bits && (*bits & kOperationBits) == kOperationBits;
  };
  switch (value.operation) {
    case StepOperation::kCopy:
      return OperationOf(values, value.a);
    case StepOperation::kAnd:
      if (keeps(value.b)) return OperationOf(values, value.a);
      return keeps(value.a) ? OperationOf(values, value.b) : std::nullopt;
    case StepOperation::kXor:
    case StepOperation::kOr:
      if (const auto of = OperationWith(values, value, value.b, value.a)) return of;
      return OperationWith(values, value, value.a, value.b);
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
