// SPDX-License-Identifier: MIT
// Makes the steps of an AArch64 instruction. The fields are those of the architecture's manual.
//
// The carry of AArch64 is set where a subtraction does not borrow; in steps, the carry is the
// borrow, and so conditions on it are turned round.
#pragma once

#include <cstdint>

#include "decode/instruction/aarch64/word.h"
#include "decode/instruction/effects.h"
#include "decode/instruction/step_list.h"

namespace flowback::aarch64 {

class AArch64StepMaker : public StepList {
 public:
  AArch64StepMaker(uint32_t word, uint64_t address, InstructionEffects& effects)
      : StepList(effects, NameOf(word)), word_(word), address_(address) {}

  // False: the instruction is none that is known.
  bool Make();

 private:
  enum class Of31 : uint8_t { kZero, kStackPointer };  // what the number 31 means

  // The instruction without its registers.
  static uint64_t NameOf(uint32_t word) { return word & ~uint32_t{0x1f03ff}; }
  unsigned Width() const { return Bit(word_, 31) ? 64 : 32; }
  StepOperand General(uint32_t number, unsigned bits, Of31 of31 = Of31::kZero);
  StepOperand Result(unsigned bits, Of31 of31 = Of31::kZero) {
    return Written(Field(word_, 4, 0), bits, of31);
  }
  // Where a register is written: what goes to the zero register is lost.
  StepOperand Written(uint32_t number, unsigned bits, Of31 of31 = Of31::kZero);
  StepOperand Vector(uint32_t number) const {
    return RegisterOperand(step_register::kVector + number, 64);
  }
  void Move(StepOperand to, unsigned bits, StepOperand from) {
    ComputeTo(to, StepOperation::kCopy, bits, from);
  }
  StepOperand ShiftedRegister(unsigned bits);
  StepOperand ExtendedRegister(uint32_t number, uint32_t option, unsigned shift, unsigned bits);

  bool MakeByImmediate();
  void MakeSum(StepOperand a, StepOperand b, unsigned bits, bool immediate_or_extended);
  void MakeLogic(StepOperand a, StepOperand b, unsigned bits);
  void MakeWideMove();
  void MakeBitField();
  void MakeInsertion(StepOperand from, unsigned lowest, unsigned highest, unsigned bits);
  void MakeExtraction();
  bool MakeByRegisters();
  void MakeConditionalCompare();
  void MakeConditionalSelect();
  void MakeOtherGeneral(bool third);
  bool MakeShiftByRegister();
  bool MakeOfOne();
  void MakeMultiply();
  StepOperand Holds();
  bool MakeControl();
  void MakeBranch(StepOperand flags, uint8_t condition, int64_t distance);
  bool MakeSystem();
  void MakeVector();

  // Memory (memory_steps.cc).
  bool MakeMemory();
  bool MakeExclusive();
  void MakeCompareAndSwap(unsigned bits, uint32_t number);
  void MakeStoreExclusive(unsigned bits, bool pair);
  bool MakeLiteral();
  bool MakePair();
  bool MakeOne();
  void MakeAtomic(unsigned bits);
  void Transfer(const StepAddress& address, unsigned bits, uint32_t number, bool loads,
                bool extends = false);
  StepAddress Base();
  unsigned VectorBits() const;

  uint32_t word_;
  uint64_t address_;
};

uint8_t ConditionOf(uint32_t field);

}  // namespace flowback::aarch64
