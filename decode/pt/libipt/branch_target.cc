// SPDX-License-Identifier: MIT
// libipt says "call", "jump", "conditional jump"; whether one is direct, and where it goes, is in
// its opcode and displacement. Only near branches get here, so a few opcodes decide.
#include "decode/pt/libipt/branch_target.h"

#include "decode/instruction/x86/prefixes.h"
#include "flowback/base/bytes.h"

namespace flowback::libipt {
namespace {

struct Opcode {
  uint8_t byte = 0;
  bool two_bytes = false;     // behind 0f
  bool operand_size = false;  // prefix 66
};

bool IsPrefix(uint8_t byte, pt_exec_mode mode) {
  return x86::IsLegacyPrefix(byte) || (mode == ptem_64bit && x86::IsRex(byte));
}

Opcode OpcodeOf(const pt_insn& insn) {
  Opcode opcode;
  unsigned at = 0;
  while (at + 1 < insn.size && IsPrefix(insn.raw[at], insn.mode)) {
    if (insn.raw[at] == x86::kOperandSizePrefix) opcode.operand_size = true;
    ++at;
  }
  if (insn.raw[at] == 0x0f && at + 1 < insn.size) {
    opcode.two_bytes = true;
    ++at;
  }
  opcode.byte = insn.raw[at];
  return opcode;
}

// Displacement bytes of a direct near branch; 0 for others.
unsigned DisplacementSize(const Opcode& opcode, pt_exec_mode mode) {
  // In 64-bit mode the operand-size prefix is ignored (Intel); elsewhere it swaps 16 and 32 bits.
  const unsigned wide = mode == ptem_64bit                            ? 4
                        : (mode == ptem_16bit) == opcode.operand_size ? 4
                                                                      : 2;
  if (opcode.two_bytes) return (opcode.byte & 0xf0) == 0x80 ? wide : 0;
  if ((opcode.byte & 0xf0) == 0x70 || (opcode.byte & 0xfc) == 0xe0) return 1;
  if (opcode.byte == 0xeb) return 1;
  return opcode.byte == 0xe8 || opcode.byte == 0xe9 ? wide : 0;
}

int64_t SignedLoad(const uint8_t* data, unsigned size) {
  const unsigned unused = 64 - 8 * size;
  return static_cast<int64_t>(LoadLittleEndian(data, size) << unused) >> unused;
}

uint64_t InstructionPointerMask(const pt_insn& insn, unsigned displacement_size) {
  if (insn.mode == ptem_64bit) return ~uint64_t{0};
  if (displacement_size == 2) return 0xffff;
  const Opcode opcode = OpcodeOf(insn);
  const bool narrow = (insn.mode == ptem_16bit) != opcode.operand_size;
  return narrow ? 0xffff : 0xffffffff;
}

}  // namespace

InstructionClass ClassOf(const pt_insn& insn) {
  const bool direct = DisplacementSize(OpcodeOf(insn), insn.mode) != 0;
  switch (insn.iclass) {
    case ptic_call:
      return direct ? InstructionClass::kCall : InstructionClass::kIndirectCall;
    case ptic_jump:
      return direct ? InstructionClass::kJump : InstructionClass::kIndirectJump;
    case ptic_return:
      return InstructionClass::kReturn;
    case ptic_cond_jump:
      return InstructionClass::kConditional;
    case ptic_far_call:
      return InstructionClass::kFarCall;
    case ptic_far_return:
      return InstructionClass::kFarReturn;
    case ptic_far_jump:
      return InstructionClass::kFarJump;
    default:
      return InstructionClass::kOther;
  }
}

uint64_t DirectTarget(const pt_insn& insn) {
  const unsigned size = DisplacementSize(OpcodeOf(insn), insn.mode);
  if (size == 0 || size > insn.size) return 0;
  const int64_t displacement = SignedLoad(insn.raw + insn.size - size, size);
  return (insn.ip + insn.size + static_cast<uint64_t>(displacement)) &
         InstructionPointerMask(insn, size);
}

}  // namespace flowback::libipt
