// SPDX-License-Identifier: MIT
#include "capture/record/generate/branch_outcome.h"

#include "decode/instruction/x86/prefixes.h"

namespace flowback::record {
namespace {

// `code` is one instruction. In 32-bit code what looks like REX is all of it, and is none of those
// that are asked for here.
Bytes SkipPrefixes(Bytes code) { return x86::BehindPrefixes(code, true); }

bool StartsWith(Bytes code, uint8_t first, uint8_t second) {
  return code.size() >= 2 && code[0] == first && code[1] == second;
}

bool EntersKernel(const Instruction& instruction, Bytes code) {
  if (instruction.kind != InstructionClass::kFarCall) return false;
  const Bytes opcode = SkipPrefixes(code);
  return StartsWith(opcode, 0x0f, 0x05) || StartsWith(opcode, 0x0f, 0x34);
}

Outcome InterpretConditional(const Instruction& instruction, uint64_t ip, uint64_t next) {
  const uint64_t after = ip + instruction.length;
  const uint64_t target = instruction.Target(ip);
  if (next == after) return target == after ? Outcome::kEitherWay : Outcome::kSequential;
  return next == target ? Outcome::kTaken : Outcome::kTrapped;
}

// Condition codes as Jcc encodes them in its low four bits; bit 0 negates.
bool FlagsCondition(uint8_t condition, uint64_t rflags) {
  const bool carry = (rflags & 0x1) != 0;
  const bool parity = (rflags & 0x4) != 0;
  const bool zero = (rflags & 0x40) != 0;
  const bool sign = (rflags & 0x80) != 0;
  const bool overflow = (rflags & 0x800) != 0;
  const bool values[8] = {overflow,
                          carry,
                          zero,
                          carry || zero,
                          sign,
                          parity,
                          sign != overflow,
                          zero || sign != overflow};
  return values[condition >> 1 & 7] != ((condition & 1) != 0);
}

}  // namespace

Outcome Interpret(const Instruction& instruction, Bytes code, uint64_t ip, uint64_t next) {
  switch (instruction.kind) {
    case InstructionClass::kOther:
      if (next == ip + instruction.length) return Outcome::kSequential;
      return next == ip && (instruction.flags & kFlagRep) ? Outcome::kRepeats : Outcome::kTrapped;
    case InstructionClass::kConditional:
      return InterpretConditional(instruction, ip, next);
    case InstructionClass::kJump:
    case InstructionClass::kCall:
      return next == instruction.Target(ip) ? Outcome::kTaken : Outcome::kTrapped;
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
    case InstructionClass::kReturn:
      return Outcome::kTaken;
    case InstructionClass::kFarCall:
      if (EntersKernel(instruction, code)) return Outcome::kEntersKernel;
      return RaisesTrap(instruction, code) ? Outcome::kTrapped : Outcome::kTaken;
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      return Outcome::kTaken;
  }
  return Outcome::kTrapped;
}

bool ConditionHolds(Bytes code, uint64_t rflags, uint64_t rcx) {
  const Bytes opcode = SkipPrefixes(code);
  if (opcode.size() < 2) return false;
  const bool zero = (rflags & 0x40) != 0;
  switch (opcode[0]) {
    case 0xe0:
      return rcx != 0 && !zero;  // LOOPNE
    case 0xe1:
      return rcx != 0 && zero;  // LOOPE
    case 0xe2:
      return rcx != 0;  // LOOP
    case 0xe3:
      return rcx == 0;  // JRCXZ
    case 0x0f:
      return FlagsCondition(opcode[1], rflags);
    default:
      return FlagsCondition(opcode[0], rflags);
  }
}

bool IsTransactionBegin(const Instruction& instruction, Bytes code) {
  return instruction.length >= 4 && StartsWith(SkipPrefixes(code), 0xc7, 0xf8);
}

bool RaisesTrap(const Instruction& instruction, Bytes code) {
  if (instruction.kind != InstructionClass::kFarCall) return false;
  const Bytes opcode = SkipPrefixes(code);
  if (opcode.empty()) return false;
  return opcode[0] == 0xcc || opcode[0] == 0xcd || opcode[0] == 0xce || opcode[0] == 0xf1;
}

bool IsInt1(const Instruction& instruction, Bytes code) {
  if (instruction.kind != InstructionClass::kFarCall) return false;
  const Bytes opcode = SkipPrefixes(code);
  return !opcode.empty() && opcode[0] == 0xf1;
}

bool IsPushFlags(Bytes code) {
  const Bytes opcode = SkipPrefixes(code);
  return !opcode.empty() && opcode[0] == 0x9c;
}

}  // namespace flowback::record
