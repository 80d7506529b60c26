// SPDX-License-Identifier: MIT
#include "decode/instruction/x86/effects.h"

#include "decode/instruction/x86/full_decode.h"
#include "decode/instruction/x86/step_maker.h"

namespace flowback::x86 {

bool EffectsOf(Bytes code, uint64_t address, CodeMode mode, InstructionEffects& effects) {
  effects.steps.clear();
  effects.writes_elsewhere = false;
  FullDecode decoded;
  if (mode == CodeMode::kX86_16 || !DecodeFull(code, mode, decoded)) return false;
  effects.length = decoded.instruction.length;
  X86StepMaker(decoded, address, mode, effects).Make();
  return true;
}

bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits) {
  traits = {};
  FullDecode decoded;
  if (!DecodeFull(code, mode, decoded)) return false;
  traits.length = decoded.instruction.length;
  traits.pauses = IsPause(decoded.instruction.mnemonic);
  const auto is_frame = [&](const ZydisDecodedOperand& operand) {
    const StepOperand base = OperandOf(operand.mem.base, mode);
    return base.number == step_register::kX86StackPointer ||
           base.number == step_register::kX86FramePointer;
  };
  for (const ZydisDecodedOperand& operand : decoded.Operands()) {
    if (!IsMemory(operand) || !Writes(operand)) continue;
    if (IsAtomic(decoded))
      traits.atomic = true;
    else if (!is_frame(operand))
      traits.stores = true;
  }
  return true;
}

}  // namespace flowback::x86
