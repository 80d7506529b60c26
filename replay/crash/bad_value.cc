// SPDX-License-Identifier: MIT
#include "replay/crash/bad_value.h"

#include <algorithm>

#include "base/hex.h"
#include "decode/instruction/effects.h"
#include "decode/instruction/step_value.h"

namespace flowback {
namespace {

constexpr uint64_t kGuardAt = 0x28;  // of the thread's header, on x86-64
constexpr uint8_t kGeneral = 16;     // registers of x86-64

bool IsGeneralRegister(const StepOperand& operand) {
  return operand.kind == StepOperand::Kind::kRegister && operand.number < kGeneral;
}

// Empty: a part of the address is not proven.
std::optional<uint64_t> AddressAt(const PastValues::Place& place, const StepAddress& memory) {
  return StepAddressValue(memory, [&place](const StepOperand& operand) {
    return IsGeneralRegister(operand) ? place.history.Register(place.point, operand.number)
                                      : std::nullopt;
  });
}

InstructionEffects EffectsAt(const PastValues::Place& place, size_t point) {
  InstructionEffects effects;
  const values::PathInstruction& one = place.history.path().instructions[point];
  if (!EffectsOf({one.bytes.data(), one.length}, one.address, one.mode, effects)) return {};
  return effects;
}

ValueQuestion OfMemory(uint64_t address) { return {.name = Hex(address), .address = address}; }

// The load of a frame's guard among a few instructions ahead of `point`, if they compare it with
// the thread's.
std::optional<size_t> GuardLoad(const PastValues::Place& place, size_t point, StepAddress& memory) {
  constexpr size_t kMost = 12;
  bool has_thread_guard = false;
  std::optional<size_t> load;
  for (size_t i = point; i-- != 0 && point - i <= kMost;)
    for (const MachineStep& step : EffectsAt(place, i).steps) {
      if (step.kind != StepKind::kLoad || step.bits != sizeof(uint64_t)) continue;
      const bool in_thread = step.memory.segment.kind == StepOperand::Kind::kRegister;
      has_thread_guard |= in_thread && step.memory.displacement == kGuardAt;
      const bool in_frame = IsGeneralRegister(step.memory.base) &&
                            (step.memory.base.number == step_register::kX86StackPointer ||
                             step.memory.base.number == step_register::kX86FramePointer);
      if (load || in_thread || !in_frame) continue;
      load = i;
      memory = step.memory;
    }
  return has_thread_guard ? load : std::nullopt;
}

}  // namespace

std::optional<BadValue> BadTargetOf(PastValues& past, const MachineThread& thread,
                                    const LastInstruction& last) {
  const auto place = past.Before(thread, last.number);
  if (!place || last.instruction.mode != CodeMode::kX86_64) return std::nullopt;
  if (place->point >= place->history.path().instructions.size()) return std::nullopt;
  const InstructionEffects effects = EffectsAt(*place, place->point);
  const auto jump = std::ranges::find(effects.steps, StepKind::kIndirectJump, &MachineStep::kind);
  if (jump == effects.steps.end()) return std::nullopt;
  if (IsGeneralRegister(jump->a)) {
    const auto names = GeneralRegisters(last.instruction.mode);
    if (jump->a.number >= names.size()) return std::nullopt;
    std::string name(names[jump->a.number]);
    return BadValue{name, {.name = name, .number = jump->a.number}, last.number};
  }
  const auto load = std::ranges::find_if(effects.steps, [&](const MachineStep& step) {
    return step.kind == StepKind::kLoad && step.to.number == jump->a.number;
  });
  if (load == effects.steps.end()) return std::nullopt;
  const auto address = AddressAt(*place, load->memory);
  if (!address) return std::nullopt;
  const bool returns = last.instruction.last == InstructionClass::kReturn;
  return BadValue{(returns ? "the return address at " : "the function pointer at ") + Hex(*address),
                  OfMemory(*address), last.number};
}

std::optional<BadValue> BrokenGuardOf(PastValues& past, const MachineThread& thread,
                                      uint64_t after_call) {
  const auto place = past.At(thread);
  if (!place) return std::nullopt;
  const std::vector<values::PathInstruction>& path = place->history.path().instructions;
  size_t call = path.size();
  while (call != 0 && path[call - 1].address + path[call - 1].length != after_call) --call;
  if (call == 0) return std::nullopt;
  StepAddress memory;
  const auto load = GuardLoad(*place, call - 1, memory);
  if (!load) return std::nullopt;
  const auto there = past.Before(thread, place->first + *load);
  const auto address = there ? AddressAt(*there, memory) : std::nullopt;
  if (!address) return std::nullopt;
  return BadValue{"the guard of its frame at " + Hex(*address), OfMemory(*address),
                  place->first + *load};
}

}  // namespace flowback
