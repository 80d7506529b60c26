// SPDX-License-Identifier: MIT
#include "replay/crash/bad_value.h"

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "decode/instruction/effects.h"
#include "decode/instruction/step_value.h"

namespace flowback {
namespace {

constexpr uint8_t kGeneral = 32;  // registers of the machine that has the most

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

// Finds the load of a frame's guard, which a function compares with the program's.
class GuardSearch {
 public:
  // `program_guard`: its address, where it is a variable: on AArch64.
  GuardSearch(PastValues& past, const MachineThread& thread, std::optional<uint64_t> program_guard,
              Trust trust)
      : past_(past), thread_(thread), program_guard_(program_guard), trust_(trust) {}

  // Ahead of the call that returns to `after_call`.
  std::optional<BadValue> Of(uint64_t after_call) {
    const auto place = past_.Before(thread_, thread_.number, trust_);
    if (!place) return std::nullopt;
    const std::vector<values::PathInstruction>& path = place->history.path().instructions;
    size_t call = path.size();
    while (call != 0 && path[call - 1].address + path[call - 1].length != after_call) --call;
    if (call == 0) return std::nullopt;
    StepAddress memory;
    const auto load = Before(*place, call - 1, memory);
    if (!load) return std::nullopt;
    const auto there = past_.Before(thread_, place->first + *load, trust_);
    const auto address = there ? AddressAt(*there, memory) : std::nullopt;
    if (!address) return std::nullopt;
    return BadValue{"the guard of its frame at " + Hex(*address), OfMemory(*address),
                    place->first + *load, trust_, IntactBehind(*place, *load, *address)};
  }

 private:
  // The function's begin loads the program's guard and stores it to its frame.
  std::optional<uint64_t> IntactBehind(const PastValues::Place& place, size_t load,
                                       uint64_t address) {
    for (size_t i = load; i-- != 0;) {
      const InstructionEffects effects = EffectsAt(place, i);
      const auto store = std::ranges::find(effects.steps, StepKind::kStore, &MachineStep::kind);
      if (store == effects.steps.end() || !IsInFrame(store->memory)) continue;
      const auto there = past_.Before(thread_, place.first + i, trust_);
      if (!there || AddressAt(*there, store->memory) != address) continue;
      return LoadsProgramGuard(place, i) ? std::optional(place.first + i + 1) : std::nullopt;
    }
    return std::nullopt;
  }
  bool LoadsProgramGuard(const PastValues::Place& place, size_t before) {
    constexpr size_t kMost = 8;
    for (size_t i = before; i-- != 0 && before - i <= kMost;)
      for (const MachineStep& step : EffectsAt(place, i).steps)
        if (step.kind == StepKind::kLoad && IsProgramGuard(place, i, step.memory)) return true;
    return false;
  }

  // Where a register's value was loaded from.
  struct Origin {
    enum class Kind : uint8_t { kOther, kFrame, kProgramGuard };
    Kind kind = Kind::kOther;
    size_t instruction = 0;
    StepAddress memory{};
  };
  using Origins = std::array<Origin, step_register::kCount>;

  // Finds, among a few instructions before `point`, the frame's copy that is compared with the
  // program's guard.
  std::optional<size_t> Before(const PastValues::Place& place, size_t point, StepAddress& memory) {
    constexpr size_t kMost = 12;
    Origins origins;
    std::optional<size_t> load;
    for (size_t i = point - std::min(point, kMost); i < point; ++i)
      for (const MachineStep& step : EffectsAt(place, i).steps)
        if (const Origin* const frame = ComparedFrame(step, origins)) {
          load = frame->instruction;
          memory = frame->memory;
        } else {
          Follow(place, i, step, origins);
        }
    return load;
  }
  void Follow(const PastValues::Place& place, size_t i, const MachineStep& step, Origins& origins) {
    if (step.to.kind != StepOperand::Kind::kRegister) return;
    Origin& to = origins[step.to.number % step_register::kCount];
    const bool copies = step.kind == StepKind::kCompute && step.operation == StepOperation::kCopy &&
                        step.a.kind == StepOperand::Kind::kRegister;
    to = copies ? origins[step.a.number % step_register::kCount] : Origin();
    if (step.kind != StepKind::kLoad || step.bits != WordBytes()) return;
    if (IsProgramGuard(place, i, step.memory))
      to.kind = Origin::Kind::kProgramGuard;
    else if (IsInFrame(step.memory))
      to = {.kind = Origin::Kind::kFrame, .instruction = i, .memory = step.memory};
  }
  // Null: the step does not compare the two.
  static const Origin* ComparedFrame(const MachineStep& step, const Origins& origins) {
    constexpr std::array kCompare = {StepOperation::kSubtract, StepOperation::kXor,
                                     StepOperation::kFlagsOfDifference};
    if (step.kind != StepKind::kCompute ||
        std::ranges::find(kCompare, step.operation) == kCompare.end() ||
        step.a.kind != StepOperand::Kind::kRegister || step.b.kind != StepOperand::Kind::kRegister)
      return nullptr;
    const Origin& a = origins[step.a.number % step_register::kCount];
    const Origin& b = origins[step.b.number % step_register::kCount];
    if (a.kind == Origin::Kind::kFrame && b.kind == Origin::Kind::kProgramGuard) return &a;
    return b.kind == Origin::Kind::kFrame && a.kind == Origin::Kind::kProgramGuard ? &b : nullptr;
  }

  unsigned WordBytes() const { return TraitsOf(past_.mode()).bits / 8; }
  bool IsProgramGuard(const PastValues::Place& place, size_t point, const StepAddress& memory) {
    // In the thread's header, on x86.
    constexpr uint64_t k64 = 0x28, k32 = 0x14;
    if (memory.segment.kind == StepOperand::Kind::kRegister)
      return memory.displacement == (past_.mode() == CodeMode::kX86_64 ? k64 : k32);
    if (past_.mode() != CodeMode::kAArch64 || !program_guard_ || IsInFrame(memory)) return false;
    const auto there = past_.Before(thread_, place.first + point, trust_);
    const auto address = there ? AddressAt(*there, memory) : std::nullopt;
    return !address || address == program_guard_;
  }
  bool IsInFrame(const StepAddress& memory) const {
    if (memory.segment.kind == StepOperand::Kind::kRegister || !IsGeneralRegister(memory.base))
      return false;
    const uint8_t number = memory.base.number;
    if (past_.mode() == CodeMode::kAArch64)
      return number == step_register::kAArch64StackPointer ||
             number == step_register::kAArch64FramePointer;
    return number == step_register::kX86StackPointer || number == step_register::kX86FramePointer;
  }

  PastValues& past_;
  const MachineThread& thread_;
  const std::optional<uint64_t> program_guard_;
  const Trust trust_;
};

}  // namespace

std::optional<BadValue> BadTargetOf(PastValues& past, const MachineThread& thread,
                                    const LastInstruction& last) {
  const auto place = past.Before(thread, last.number);
  if (!place || last.instruction.mode != past.mode()) return std::nullopt;
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
                                      uint64_t after_call, std::optional<uint64_t> program_guard) {
  for (const Trust trust : {Trust::kProven, Trust::kConvention})
    if (auto guard = GuardSearch(past, thread, program_guard, trust).Of(after_call)) return guard;
  return std::nullopt;
}

}  // namespace flowback
