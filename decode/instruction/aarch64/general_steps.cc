// SPDX-License-Identifier: MIT
// Computations of general registers that are not sums and logic.
#include <array>

#include "decode/instruction/aarch64/step_maker.h"

namespace flowback::aarch64 {

// BFM: BFI, BFXIL, BFC.
void AArch64StepMaker::MakeInsertion(StepOperand from, unsigned lowest, unsigned highest,
                                     unsigned bits) {
  const bool takes_out = highest >= lowest;
  const unsigned width = takes_out ? highest - lowest + 1 : highest + 1;
  const unsigned to = takes_out ? 0 : bits - lowest;
  const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  StepOperand part = from;
  if (takes_out && lowest != 0)
    part = Compute(StepOperation::kShiftRight, bits, part, ConstantOperand(lowest));
  part = Compute(StepOperation::kAnd, bits, part, ConstantOperand(mask));
  if (to != 0) part = Compute(StepOperation::kShiftLeft, bits, part, ConstantOperand(to));
  const StepOperand kept = Compute(StepOperation::kAnd, bits, General(Field(word_, 4, 0), bits),
                                   ConstantOperand(~(mask << to)));
  ComputeTo(Result(bits), StepOperation::kOr, bits, kept, part);
}

// EXTR: bits out of two registers; of one register twice it is ROR.
void AArch64StepMaker::MakeExtraction() {
  const unsigned bits = Width();
  const uint32_t lowest = Field(word_, 15, 10) % bits;
  const StepOperand high = General(Field(word_, 9, 5), bits);
  const StepOperand low = General(Field(word_, 20, 16), bits);
  if (lowest == 0) return Move(Result(bits), bits, low);
  if (Field(word_, 9, 5) == Field(word_, 20, 16))
    return ComputeTo(Result(bits), StepOperation::kRotateLeft, bits, low,
                     ConstantOperand(bits - lowest));
  const StepOperand upper =
      Compute(StepOperation::kShiftLeft, bits, high, ConstantOperand(bits - lowest));
  const StepOperand lower = Compute(StepOperation::kShiftRight, bits, low, ConstantOperand(lowest));
  ComputeTo(Result(bits), StepOperation::kOr, bits, upper, lower);
}

bool AArch64StepMaker::MakeShiftByRegister() {
  const uint32_t opcode = Field(word_, 15, 10);
  if (Bit(word_, 30) || opcode < 8 || opcode > 11) return false;
  constexpr std::array kShifts = {StepOperation::kShiftLeft, StepOperation::kShiftRight,
                                  StepOperation::kShiftRightSigned, StepOperation::kRotateLeft};
  const unsigned bits = Width();
  StepOperand amount = Compute(StepOperation::kAnd, 32, General(Field(word_, 20, 16), 32),
                               ConstantOperand(bits - 1));
  if (opcode == 11) amount = Compute(StepOperation::kSubtract, 32, ConstantOperand(bits), amount);
  ComputeTo(Result(bits), kShifts[opcode - 8], bits, General(Field(word_, 9, 5), bits), amount);
  return true;
}

// RBIT, REV, REV32, CLZ.
bool AArch64StepMaker::MakeOfOne() {
  if (!Bit(word_, 30) || Field(word_, 20, 16) != 0) return false;
  const unsigned bits = Width();
  const StepOperand a = General(Field(word_, 9, 5), bits);
  const uint32_t opcode = Field(word_, 15, 10);
  if (opcode == 0) {
    ComputeTo(Result(bits), StepOperation::kReverseBits, bits, a);
  } else if (opcode == (bits == 64 ? 3 : 2)) {
    ComputeTo(Result(bits), StepOperation::kByteSwap, bits, a);
  } else if (opcode == 2) {
    ComputeTo(Result(bits), StepOperation::kRotateLeft, bits,
              Compute(StepOperation::kByteSwap, bits, a), ConstantOperand(32));
  } else if (opcode == 4) {
    ComputeTo(Result(bits), StepOperation::kLeadingZeros, bits, a);
  } else {
    return false;
  }
  return true;
}

// MADD, MSUB, and those that multiply 32 bits to 64; with the zero register, MUL and related ones.
void AArch64StepMaker::MakeMultiply() {
  const uint32_t kind = Field(word_, 23, 21);
  const bool is_long = kind == 0b001 || kind == 0b101;
  const unsigned bits = Width();
  if (kind == 0b110)
    return ComputeTo(Result(64), StepOperation::kMultiplyHigh, 64, General(Field(word_, 9, 5), 64),
                     General(Field(word_, 20, 16), 64));
  if (kind != 0 && !is_long) return MakeOtherGeneral(true);
  const auto factor = [&](uint32_t number) {
    const StepOperand value = General(number, is_long ? 32 : bits);
    if (kind != 0b001) return value;
    return Compute(StepOperation::kSignExtend, 64, value, ConstantOperand(32));
  };
  const StepOperand a = factor(Field(word_, 9, 5));
  const StepOperand b = factor(Field(word_, 20, 16));
  const StepOperand product = Compute(StepOperation::kMultiply, bits, a, b);
  const bool subtracts = Bit(word_, 15);
  ComputeTo(Result(bits), subtracts ? StepOperation::kSubtract : StepOperation::kAdd, bits,
            General(Field(word_, 14, 10), bits), product);
}

void AArch64StepMaker::MakeOtherGeneral(bool third) {
  const unsigned bits = 64;
  const StepOperand a = General(Field(word_, 9, 5), bits);
  const StepOperand b = General(Field(word_, 20, 16), bits);
  const uint32_t number = Field(word_, 14, 10);
  ComputeTo(Result(Width()), StepOperation::kOther, Width(), a, b,
            third ? General(number, bits) : ConstantOperand(0));
}

}  // namespace flowback::aarch64
