// SPDX-License-Identifier: MIT
// Makes the steps of an x86 instruction from what Zydis says of it.
//
// Zydis names every operand that an instruction reads or writes, the hidden ones included. The
// instructions that MakeSimple and MakeControl know are exact; for all others each written operand
// becomes something that depends on all that are read.
#pragma once

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "decode/instruction/effects.h"
#include "decode/instruction/step_list.h"
#include "decode/instruction/x86/full_decode.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

// Returns step_register::kOtherState for registers that have no number of their own.
StepOperand OperandOf(ZydisRegister reg, CodeMode mode);
bool IsAtomic(const FullDecode& decoded);
bool IsPause(ZydisMnemonic mnemonic);

inline bool IsMemory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
         (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

inline bool Reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

inline bool Writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

// Makes the steps of one instruction.
class X86StepMaker : public StepList {
 public:
  X86StepMaker(const FullDecode& decoded, uint64_t address, CodeMode mode,
               InstructionEffects& effects)
      : StepList(effects, decoded.instruction.mnemonic),
        effects_(effects),
        decoded_(decoded),
        mode_(mode),
        bits_(TraitsOf(mode).bits),
        next_((address + decoded.instruction.length) & TraitsOf(mode).address_mask),
        atomic_(IsAtomic(decoded)) {}

  void Make();

 private:
  const ZydisDecodedOperand& Operand(size_t i) const { return decoded_.operands[i]; }
  unsigned Bits(size_t i) const { return Operand(i).size; }
  uint8_t Condition() const { return decoded_.instruction.opcode & 15; }
  bool IsImmediate(size_t i) const { return Operand(i).type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }
  StepOperand Pointer(uint8_t number) const { return RegisterOperand(number, bits_); }

  StepAddress AddressOf(const ZydisDecodedOperand& operand) const;
  StepOperand Read(size_t i);
  void Write(size_t i, StepOperand value);

  void MakeBinary(StepOperation operation, StepOperation flags);
  void MakeShift(StepOperation operation);
  void MakeRotation(bool right);
  void MakeSignOf(unsigned bits);
  void MakeWiderAccumulator(unsigned bits);
  void MakeStep(StepOperation operation);  // INC and DEC
  void MakeNegate();
  void MakeMove(bool sign_extends);
  void MakeExchange();
  void MakeExchangeAdd();
  void MakeCompareExchange();
  void MakeCompareExchangePair();
  void MakeBitTest();
  void MakeMultiply();
  void MakeBranch(StepOperand flags, uint8_t condition);
  void MakeCounted();
  void MakeJump();
  void MakeCall();
  void MakeReturn();
  void MakePush(StepOperand value, unsigned bits);
  StepOperand MakePop(unsigned bits);
  void MakeSystemCall();
  void MakeInput(StepKind kind);
  bool IsPlainStore(const ZydisDecodedOperand& operand) const;
  void MakeOther();
  bool MakeSimple();
  bool MakeControl();

  InstructionEffects& effects_;
  const FullDecode& decoded_;
  CodeMode mode_;
  unsigned bits_;
  uint64_t next_;
  bool atomic_;
};

}  // namespace flowback::x86
