// SPDX-License-Identifier: MIT
#include "decode/instruction/aarch64/effects.h"

#include <algorithm>

#include "decode/instruction/aarch64/step_maker.h"
#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

bool IsFrame(const StepOperand& base) {
  return base.kind == StepOperand::Kind::kRegister &&
         (base.number == step_register::kAArch64StackPointer ||
          base.number == step_register::kAArch64FramePointer);
}

// The group of loads and stores, and the hints.
bool IsOfInterest(uint32_t word) {
  return (Field(word, 28, 25) & 0b0101) == 0b0100 || Field(word, 31, 13) == 0b1101010100000011000;
}

}  // namespace

bool EffectsOf(Bytes code, uint64_t address, CodeMode, InstructionEffects& effects) {
  effects.steps.clear();
  effects.writes_elsewhere = false;
  if (code.size() < kLength) return false;
  effects.length = kLength;
  return AArch64StepMaker(WordAt(code), address, effects).Make();
}

bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits) {
  traits = {};
  if (code.size() < kLength) return false;
  traits.length = kLength;
  if (!IsOfInterest(WordAt(code))) return true;
  InstructionEffects effects;
  if (!aarch64::EffectsOf(code, 0, mode, effects)) return true;
  for (const MachineStep& step : effects.steps) {
    const bool stores = step.kind == StepKind::kStore || step.kind == StepKind::kStoreIf ||
                        step.kind == StepKind::kStoreTry;
    traits.pauses = traits.pauses || step.kind == StepKind::kPause;
    traits.atomic = traits.atomic || (stores && step.atomic);
    // A base that is changed by the access is copied first.
    const bool frame = IsFrame(step.memory.base) ||
                       std::ranges::any_of(effects.steps, [&](const MachineStep& other) {
                         return other.operation == StepOperation::kCopy &&
                                other.kind == StepKind::kCompute && IsFrame(other.a) &&
                                other.to.number == step.memory.base.number;
                       });
    traits.stores = traits.stores || (stores && !step.atomic && !frame);
  }
  return true;
}

}  // namespace flowback::aarch64
