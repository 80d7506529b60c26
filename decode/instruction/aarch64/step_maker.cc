// SPDX-License-Identifier: MIT
// Computations and transfers of control.
#include "decode/instruction/aarch64/step_maker.h"

#include <array>
#include <bit>

namespace flowback::aarch64 {
namespace {

constexpr uint32_t kNumber31 = 31;

// The immediate of AND, ORR, EOR and ANDS: a run of ones in elements of 2 to 64 bits, rotated, and
// repeated up to the width.
uint64_t LogicalImmediate(uint32_t word) {
  const bool wide = Bit(word, 22);
  const uint32_t highest = Field(word, 15, 10);
  const unsigned pattern = (wide ? 0x40U : 0U) | (~highest & 0x3fU);
  if (pattern == 0) return 0;
  const unsigned size = std::bit_floor(pattern);
  const unsigned ones = (highest & (size - 1)) + 1;
  const unsigned rotation = Field(word, 21, 16) & (size - 1);
  const uint64_t mask = size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  uint64_t element = ones >= 64 ? ~uint64_t{0} : (uint64_t{1} << ones) - 1;
  if (rotation != 0) element = (element >> rotation | element << (size - rotation)) & mask;
  uint64_t result = 0;
  for (unsigned at = 0; at < 64; at += size) result |= element << at;
  return result;
}

}  // namespace

namespace {

// The flags N, Z, C, V of an immediate, as steps have them: by x86's bits, with the carry turned
// round.
uint64_t FlagsOf(uint32_t field) {
  constexpr uint64_t kCarry = 1 << 0, kZero = 1 << 6, kSign = 1 << 7, kOverflow = 1 << 11;
  return (Bit(field, 3) ? kSign : 0) | (Bit(field, 2) ? kZero : 0) | (Bit(field, 1) ? 0 : kCarry) |
         (Bit(field, 0) ? kOverflow : 0);
}

}  // namespace

uint8_t ConditionOf(uint32_t field) {
  using namespace step_condition;  // NOLINT
  constexpr std::array<uint8_t, 16> kConditions = {kZero,
                                                   kZero | 1,
                                                   kCarry | 1,
                                                   kCarry,  // EQ, NE, HS, LO
                                                   kSign,
                                                   kSign | 1,
                                                   kOverflow,
                                                   kOverflow | 1,
                                                   kCarryOrZero | 1,
                                                   kCarryOrZero,
                                                   kLess | 1,
                                                   kLess,  // HI, LS, GE, LT
                                                   kLessOrEqual | 1,
                                                   kLessOrEqual,
                                                   kZero,
                                                   kZero};  // GT, LE; always
  return kConditions[field & 15];
}

StepOperand AArch64StepMaker::General(uint32_t number, unsigned bits, Of31 of31) {
  if (number == kNumber31 && of31 == Of31::kZero) return ConstantOperand(0);
  return RegisterOperand(number, bits);
}

StepOperand AArch64StepMaker::Written(uint32_t number, unsigned bits, Of31 of31) {
  if (number == kNumber31 && of31 == Of31::kZero) return Temporary(bits);
  return RegisterOperand(number, bits);
}

StepOperand AArch64StepMaker::ShiftedRegister(unsigned bits) {
  const StepOperand value = General(Field(word_, 20, 16), bits);
  const uint32_t amount = Field(word_, 15, 10);
  if (amount == 0) return value;
  constexpr std::array kShifts = {StepOperation::kShiftLeft, StepOperation::kShiftRight,
                                  StepOperation::kShiftRightSigned, StepOperation::kRotateLeft};
  const bool rotates = Field(word_, 23, 22) == 3;
  if (rotates)
    return Compute(StepOperation::kRotateLeft, bits, value, ConstantOperand(bits - amount % bits));
  return Compute(kShifts[Field(word_, 23, 22)], bits, value, ConstantOperand(amount));
}

StepOperand AArch64StepMaker::ExtendedRegister(uint32_t number, uint32_t option, unsigned shift,
                                               unsigned bits) {
  const unsigned from = 8U << (option & 3);
  StepOperand value = General(number, from);
  if ((option & 4) != 0 && from < 64)
    value = Compute(StepOperation::kSignExtend, 64, value, ConstantOperand(from));
  if (shift != 0) value = Compute(StepOperation::kShiftLeft, bits, value, ConstantOperand(shift));
  return value;
}

// ADD, SUB and those that set flags, CMP and CMN among them.
void AArch64StepMaker::MakeSum(StepOperand a, StepOperand b, unsigned bits,
                               bool immediate_or_extended) {
  const bool subtracts = Bit(word_, 30);
  const bool sets_flags = Bit(word_, 29);
  const StepOperand sum =
      Compute(subtracts ? StepOperation::kSubtract : StepOperation::kAdd, bits, a, b);
  if (sets_flags && subtracts)
    SetFlags(StepOperation::kFlagsOfDifference, bits, a, b);
  else if (sets_flags)
    SetFlags(StepOperation::kFlagsOfZeroSign, bits, sum);
  const bool to_sp = immediate_or_extended && !sets_flags;
  Move(Result(bits, to_sp ? Of31::kStackPointer : Of31::kZero), bits, sum);
}

void AArch64StepMaker::MakeLogic(StepOperand a, StepOperand b, unsigned bits) {
  constexpr std::array kOperations = {StepOperation::kAnd, StepOperation::kOr, StepOperation::kXor,
                                      StepOperation::kAnd};
  const uint32_t opc = Field(word_, 30, 29);
  const StepOperand result = Compute(kOperations[opc], bits, a, b);
  const bool sets_flags = opc == 3;
  if (sets_flags) SetFlags(StepOperation::kFlagsOfZeroSign, bits, result);
  const bool immediate = Field(word_, 28, 23) == 0b100100;
  Move(Result(bits, immediate && !sets_flags ? Of31::kStackPointer : Of31::kZero), bits, result);
}

// MOVN, MOVZ, MOVK.
void AArch64StepMaker::MakeWideMove() {
  const unsigned shift = 16 * Field(word_, 22, 21);
  const uint64_t part = uint64_t{Field(word_, 20, 5)} << shift;
  const unsigned bits = Width();
  switch (Field(word_, 30, 29)) {
    case 0b00:
      return Move(Result(bits), bits, ConstantOperand(~part));
    case 0b10:
      return Move(Result(bits), bits, ConstantOperand(part));
    default: {
      const uint64_t hole = ~(uint64_t{0xffff} << shift);
      const StepOperand kept = Compute(StepOperation::kAnd, bits, General(Field(word_, 4, 0), bits),
                                       ConstantOperand(hole));
      return ComputeTo(Result(bits), StepOperation::kOr, bits, kept, ConstantOperand(part));
    }
  }
}

// SBFM, BFM, UBFM: shifts by constants and extensions are among them.
void AArch64StepMaker::MakeBitField() {
  const unsigned bits = Width();
  const uint32_t lowest = Field(word_, 21, 16);
  const uint32_t highest = Field(word_, 15, 10);
  const uint32_t opc = Field(word_, 30, 29);
  const StepOperand from = General(Field(word_, 9, 5), bits);
  if (opc == 0b01) return MakeInsertion(from, lowest, highest, bits);
  const bool takes_out = highest >= lowest;
  const unsigned width = takes_out ? highest - lowest + 1 : highest + 1;
  StepOperand value = from;
  if (takes_out && lowest != 0)
    value = Compute(StepOperation::kShiftRight, bits, value, ConstantOperand(lowest));
  if (opc == 0b00) {
    value = Compute(StepOperation::kSignExtend, bits, value, ConstantOperand(width));
  } else if (width < bits) {
    const uint64_t mask = (uint64_t{1} << width) - 1;
    value = Compute(StepOperation::kAnd, bits, value, ConstantOperand(mask));
  }
  if (!takes_out)
    value = Compute(StepOperation::kShiftLeft, bits, value, ConstantOperand(bits - lowest));
  Move(Result(bits), bits, value);
}

bool AArch64StepMaker::MakeByImmediate() {
  const unsigned bits = Width();
  switch (Field(word_, 25, 23)) {
    case 0b000:
    case 0b001: {
      const auto distance =
          static_cast<uint64_t>(SignedField(word_, 23, 5)) << 2 | Field(word_, 30, 29);
      const uint64_t place =
          Bit(word_, 31) ? (address_ & ~uint64_t{0xfff}) + (distance << 12) : address_ + distance;
      Move(Result(64), 64, ConstantOperand(place));
      return true;
    }
    case 0b010: {
      const uint64_t constant = uint64_t{Field(word_, 21, 10)} << (Bit(word_, 22) ? 12 : 0);
      MakeSum(General(Field(word_, 9, 5), bits, Of31::kStackPointer), ConstantOperand(constant),
              bits, true);
      return true;
    }
    case 0b100:
      MakeLogic(General(Field(word_, 9, 5), bits), ConstantOperand(LogicalImmediate(word_)), bits);
      return true;
    case 0b101:
      MakeWideMove();
      return true;
    case 0b110:
      MakeBitField();
      return true;
    case 0b111:
      MakeExtraction();
      return true;
    default:
      MakeOtherGeneral(false);
      return true;
  }
}

bool AArch64StepMaker::MakeByRegisters() {
  const unsigned bits = Width();
  const StepOperand a = General(Field(word_, 9, 5), bits);
  if (!Bit(word_, 28)) {
    if (!Bit(word_, 24)) {
      StepOperand b = ShiftedRegister(bits);
      if (Bit(word_, 21)) b = Compute(StepOperation::kXor, bits, b, ConstantOperand(~uint64_t{0}));
      MakeLogic(a, b, bits);
    } else if (!Bit(word_, 21)) {
      MakeSum(a, ShiftedRegister(bits), bits, false);
    } else {
      MakeSum(
          General(Field(word_, 9, 5), bits, Of31::kStackPointer),
          ExtendedRegister(Field(word_, 20, 16), Field(word_, 15, 13), Field(word_, 12, 10), bits),
          bits, true);
    }
    return true;
  }
  if (Bit(word_, 24)) {
    MakeMultiply();
    return true;
  }
  switch (Field(word_, 23, 21)) {
    case 0b010:
      MakeConditionalCompare();
      return true;
    case 0b100:
      MakeConditionalSelect();
      return true;
    case 0b110:
      if (!MakeShiftByRegister() && !MakeOfOne()) MakeOtherGeneral(false);
      return true;
    default:  // with the carry
      ComputeTo(kFlagsOperand, StepOperation::kOther, 64, kFlagsOperand, a,
                General(Field(word_, 20, 16), bits));
      ComputeTo(Result(bits), StepOperation::kOther, bits, kFlagsOperand, a,
                General(Field(word_, 20, 16), bits));
      return true;
  }
}

// Whether the instruction's condition holds; the last two of them always do.
StepOperand AArch64StepMaker::Holds() {
  const uint32_t condition = Field(word_, 15, 12);
  if (condition >= 14) return Compute(StepOperation::kCopy, 8, ConstantOperand(1));
  return Compute(StepOperation::kCondition, 8, kFlagsOperand, {}, {}, ConditionOf(condition));
}

// Where the condition does not hold, CCMP and CCMN set the flags to an immediate.
void AArch64StepMaker::MakeConditionalCompare() {
  const unsigned bits = Width();
  const uint32_t number = Field(word_, 20, 16);
  const StepOperand a = General(Field(word_, 9, 5), bits);
  const StepOperand b = Bit(word_, 11) ? ConstantOperand(number) : General(number, bits);
  const StepOperand holds = Holds();
  StepOperand compared;
  if (Bit(word_, 30))
    compared = Compute(StepOperation::kFlagsOfDifference, bits, a, b);
  else
    compared =
        Compute(StepOperation::kFlagsOfZeroSign, bits, Compute(StepOperation::kAdd, bits, a, b));
  ComputeTo(kFlagsOperand, StepOperation::kSelect, 64, holds, compared,
            ConstantOperand(FlagsOf(Field(word_, 3, 0))));
}

// CSEL, CSINC, CSINV, CSNEG: CSET and CSETM are among them.
void AArch64StepMaker::MakeConditionalSelect() {
  const unsigned bits = Width();
  const StepOperand holds = Holds();
  StepOperand other = General(Field(word_, 20, 16), bits);
  const bool inverts = Bit(word_, 30);
  const bool increments = Bit(word_, 10);
  if (inverts) other = Compute(StepOperation::kXor, bits, other, ConstantOperand(~uint64_t{0}));
  if (increments) other = Compute(StepOperation::kAdd, bits, other, ConstantOperand(1));
  ComputeTo(Result(bits), StepOperation::kSelect, bits, holds, General(Field(word_, 9, 5), bits),
            other);
}

void AArch64StepMaker::MakeBranch(StepOperand flags, uint8_t condition, int64_t distance) {
  MachineStep& step = Add(StepKind::kBranch);
  step.a = flags;
  step.condition = condition;
  step.constant = address_ + static_cast<uint64_t>(distance) * kLength;
}

bool AArch64StepMaker::MakeControl() {
  if (Field(word_, 31, 24) == 0b01010100) {
    if (Field(word_, 3, 1) != 0b111)
      MakeBranch(kFlagsOperand, ConditionOf(Field(word_, 3, 0)), SignedField(word_, 23, 5));
    return true;
  }
  if (Field(word_, 30, 25) == 0b011010) {  // CBZ, CBNZ
    const StepOperand flags = Compute(StepOperation::kFlagsOfDifference, Width(),
                                      General(Field(word_, 4, 0), Width()), ConstantOperand(0));
    MakeBranch(flags, Bit(word_, 24) ? step_condition::kNotZero : step_condition::kZero,
               SignedField(word_, 23, 5));
    return true;
  }
  if (Field(word_, 30, 25) == 0b011011) {  // TBZ, TBNZ
    const uint64_t mask = uint64_t{1} << (Field(word_, 31, 31) << 5 | Field(word_, 23, 19));
    const StepOperand bit =
        Compute(StepOperation::kAnd, 64, General(Field(word_, 4, 0), 64), ConstantOperand(mask));
    const StepOperand flags =
        Compute(StepOperation::kFlagsOfDifference, 64, bit, ConstantOperand(0));
    MakeBranch(flags, Bit(word_, 24) ? step_condition::kNotZero : step_condition::kZero,
               SignedField(word_, 18, 5));
    return true;
  }
  const bool direct = Field(word_, 30, 26) == 0b00101;
  const bool by_register = Field(word_, 31, 25) == 0b1101011;
  if (!direct && !by_register) return MakeSystem();
  const uint32_t opc = Field(word_, 24, 21) & 7;  // with bit 24 it authenticates the address
  const bool calls = direct ? Bit(word_, 31) : opc == 1;
  if (by_register) Add(StepKind::kIndirectJump).a = General(Field(word_, 9, 5), 64);
  if (calls) {
    Move(RegisterOperand(30, 64), 64, ConstantOperand(address_ + kLength));
    Add(StepKind::kCall);
  }
  if (by_register && opc == 2) Add(StepKind::kReturn);
  return true;
}

// Hints, system calls, system registers.
bool AArch64StepMaker::MakeSystem() {
  if (Field(word_, 31, 24) == 0b11010100) {
    if (Field(word_, 23, 21) != 0 || Field(word_, 4, 0) != 1) return true;  // not SVC
    MachineStep& step = Add(StepKind::kSystemCall);
    step.a = RegisterOperand(8, 32);
    step.to = RegisterOperand(0, 64);
    return true;
  }
  if (Field(word_, 31, 12) == 0b11010101000000110010) {
    const uint32_t hint = Field(word_, 11, 5);
    if (hint >= 1 && hint <= 3) Add(StepKind::kPause);  // YIELD, WFE, WFI
    return true;
  }
  if (Field(word_, 31, 12) == 0b11010101000000110001) {  // WFET, WFIT
    Add(StepKind::kPause);
    return true;
  }
  const bool reads = Field(word_, 31, 20) == 0b110101010011;
  if (!reads) return true;                                 // barriers, cache maintenance, MSR
  constexpr uint32_t kThreadPointer = 0b1101111010000010;  // TPIDR_EL0
  constexpr uint32_t kCounterPhysical = 0b1101111100000001;
  constexpr uint32_t kCounterVirtual = 0b1101111100000010;
  const uint32_t name = Field(word_, 20, 5);
  constexpr uint32_t kCycles = 0b1101110011101000;                  // PMCCNTR_EL0
  const bool random = (name & ~uint32_t{1}) == 0b1101100100100000;  // RNDR, RNDRRS
  if (name == kCounterPhysical || name == kCounterVirtual || name == (kCounterPhysical | 4) ||
      name == (kCounterVirtual | 4) || name == kCycles) {
    Add(StepKind::kClock).to = Result(64);
  } else if (random) {
    const StepOperand value = Temporary(64);
    Add(StepKind::kRandom).to = value;
    Move(Result(64), 64, value);
    SetFlags(StepOperation::kOther, 64, value);
  } else if (name == kThreadPointer) {
    Move(Result(64), 64, RegisterOperand(step_register::kFsBase, 64));
  } else {
    ComputeTo(Result(64), StepOperation::kOther, 64, ConstantOperand(name));
  }
  return true;
}

// Whichever registers are meant: all that the fields may name are read, and the one that may be
// written is.
void AArch64StepMaker::MakeVector() {
  const uint32_t to = Field(word_, 4, 0);
  const uint32_t from = Field(word_, 9, 5);
  const bool scalar_float = Field(word_, 28, 24) == 0b11110 && !Bit(word_, 30);
  const bool fixed_point = scalar_float && !Bit(word_, 21);
  const bool converts = scalar_float && (fixed_point || Field(word_, 15, 10) == 0);
  const bool copies = Field(word_, 28, 21) == 0b01110000 && Bit(word_, 10);
  const bool compares =
      scalar_float && !converts && (Field(word_, 13, 10) == 0b1000 || Field(word_, 11, 10) == 0b01);
  const StepOperand second = Vector(Field(word_, 20, 16));
  if (compares) {
    ComputeTo(kFlagsOperand, StepOperation::kOther, 64, Vector(from), second, kFlagsOperand);
    return;
  }
  // Opcodes 2, 3 and 7 of conversions take a general register; so do DUP and INS from one.
  const uint32_t opcode = Field(word_, 18, 16);
  const bool from_general =
      (converts && (opcode == 2 || opcode == 3 || opcode == 7)) ||
      (copies && (Field(word_, 14, 11) == 0b0001 || Field(word_, 14, 11) == 0b0011));
  const bool to_general =
      (converts && !from_general) ||
      (copies && (Field(word_, 14, 11) == 0b0111 || Field(word_, 14, 11) == 0b0101));
  const StepOperand a = from_general ? General(from, 64) : Vector(from);
  const StepOperand all = converts || copies ? Compute(StepOperation::kOther, 64, a)
                                             : Compute(StepOperation::kOther, 64, a, second,
                                                       Vector(Field(word_, 14, 10)));
  if (to_general)
    ComputeTo(Written(to, Width()), StepOperation::kOther, Width(), all);
  else
    ComputeTo(Vector(to), StepOperation::kOther, 64, all, converts ? all : Vector(to));
}

bool AArch64StepMaker::Make() {
  switch (Field(word_, 28, 25)) {
    case 0b1000:
    case 0b1001:
      return MakeByImmediate();
    case 0b0101:
    case 0b1101:
      return MakeByRegisters();
    case 0b1010:
    case 0b1011:
      return MakeControl();
    case 0b0100:
    case 0b0110:
    case 0b1100:
    case 0b1110:
      return MakeMemory();
    case 0b0111:
    case 0b1111:
      MakeVector();
      return true;
    default:
      return false;  // SVE, SME, and undefined encodings
  }
}

}  // namespace flowback::aarch64
