// SPDX-License-Identifier: MIT
// Loads and stores, atomic ones among them.
#include <array>

#include "decode/instruction/aarch64/step_maker.h"

namespace flowback::aarch64 {

StepAddress AArch64StepMaker::Base() {
  return {.base = General(Field(word_, 9, 5), 64, Of31::kStackPointer)};
}

// Returns the size of a vector register that one instruction loads or stores alone.
unsigned AArch64StepMaker::VectorBits() const {
  return Bit(word_, 23) ? 128 : 8U << Field(word_, 31, 30);
}

void AArch64StepMaker::Transfer(const StepAddress& address, unsigned bits, uint32_t number,
                                bool loads, bool extends) {
  const bool vector = Bit(word_, 26);
  if (!loads) {
    Store(address, bits, vector ? Vector(number) : General(number, bits), false);
    return;
  }
  StepOperand value = Load(address, bits, false);
  if (extends) value = Compute(StepOperation::kSignExtend, 64, value, ConstantOperand(bits));
  Move(vector ? Vector(number) : Written(number, 64), 64, value);
}

bool AArch64StepMaker::MakeMemory() {
  switch (Field(word_, 29, 28)) {
    case 0b00:
      return MakeExclusive();
    case 0b01:
      return MakeLiteral();
    case 0b10:
      return MakePair();
    default:
      return MakeOne();
  }
}

// Exclusive, acquiring and releasing accesses, compare and swap; of vectors whole structures.
bool AArch64StepMaker::MakeExclusive() {
  const bool loads = Bit(word_, 22);
  if (Bit(word_, 26)) {
    const uint32_t first = Field(word_, 4, 0);
    if (loads) {
      const StepOperand value = Load(Base(), 512, false);
      for (uint32_t i = 0; i < 4; ++i)
        ComputeTo(Vector((first + i) & 31), StepOperation::kOther, 64, value,
                  Vector((first + i) & 31), ConstantOperand(i));
    } else {
      Store(Base(), 512, Vector(first), false);
    }
    const StepOperand base = Base().base;
    const uint32_t by = Field(word_, 20, 16);
    if (Bit(word_, 23))
      ComputeTo(base, StepOperation::kAdd, 64, base,
                by == 31 ? ConstantOperand(16) : General(by, 64));
    return true;
  }
  const unsigned bits = 8U << Field(word_, 31, 30);
  const bool ordered = Bit(word_, 23);
  const bool second_kind = Bit(word_, 21);
  if (ordered && second_kind) {
    MakeCompareAndSwap(bits, Field(word_, 20, 16));
  } else if (second_kind && !Bit(word_, 31)) {
    MakeCompareAndSwap(Bit(word_, 30) ? 128 : 64, Field(word_, 20, 16));  // CASP
  } else if (loads) {
    const bool pair = second_kind;
    StepAddress upper = Base();
    upper.displacement = bits / 8;
    // The first register may be the base.
    if (pair) upper.base = Compute(StepOperation::kCopy, 64, upper.base);
    Transfer(Base(), bits, Field(word_, 4, 0), true);
    if (pair) Transfer(upper, bits, Field(word_, 14, 10), true);
  } else if (ordered) {
    Transfer(Base(), bits, Field(word_, 4, 0), false);
  } else {
    MakeStoreExclusive(bits, second_kind);
  }
  return true;
}

// The flags stay as they are: code that needs the result compares the loaded value. Pairs of
// registers are compared as one value; only its lower half is followed.
void AArch64StepMaker::MakeCompareAndSwap(unsigned bits, uint32_t number) {
  const bool pair = bits == 128 || (!Bit(word_, 23) && bits == 64);
  const unsigned part = pair ? bits / 2 : bits;
  const StepOperand old = Load(Base(), part, true);
  const StepOperand flags =
      Compute(StepOperation::kFlagsOfDifference, part, General(number, part), old);
  StoreIfZero(Base(), part, General(Field(word_, 4, 0), part), flags);
  if (pair) {
    StepAddress upper = Base();
    upper.displacement = part / 8;
    Move(Written(number | 1, 64), 64, Load(upper, part, true));
  }
  Move(Written(number, 64), 64, old);
}

void AArch64StepMaker::MakeStoreExclusive(unsigned bits, bool pair) {
  MachineStep& step =
      Store(Base(), bits, General(Field(word_, 4, 0), bits), true, StepKind::kStoreTry);
  step.to = Written(Field(word_, 20, 16), 64);
  if (!pair) return;
  StepAddress upper = Base();
  upper.displacement = bits / 8;
  Store(upper, bits, General(Field(word_, 14, 10), bits), true);
}

bool AArch64StepMaker::MakeLiteral() {
  const uint32_t opc = Field(word_, 31, 30);
  if (Bit(word_, 24)) {
    // LDAPUR, STLUR; others copy memory or work on its tags.
    if (Field(word_, 29, 24) != 0b011001 || Bit(word_, 21) || Field(word_, 11, 10) != 0)
      return false;
    StepAddress address = Base();
    address.displacement = static_cast<uint64_t>(SignedField(word_, 20, 12));
    Transfer(address, 8U << opc, Field(word_, 4, 0), Field(word_, 23, 22) != 0);
    return true;
  }
  const bool vector = Bit(word_, 26);
  if (!vector && opc == 3) return true;  // prefetch
  const StepAddress address{
      .displacement = address_ + static_cast<uint64_t>(SignedField(word_, 23, 5)) * kLength};
  unsigned bits = opc == 1 ? 64 : 32;
  if (vector) bits = 32U << opc;
  const bool extends = !vector && opc == 2;
  Transfer(address, bits, Field(word_, 4, 0), true, extends);
  return true;
}

bool AArch64StepMaker::MakePair() {
  const uint32_t opc = Field(word_, 31, 30);
  const bool vector = Bit(word_, 26);
  const bool loads = Bit(word_, 22);
  unsigned bits = opc == 2 ? 64 : 32;
  if (vector) bits = 32U << opc;
  const auto distance = static_cast<uint64_t>(SignedField(word_, 21, 15) * (bits / 8));
  const bool changes_base = Bit(word_, 23);
  const bool afterwards = changes_base && !Bit(word_, 24);
  StepAddress address = Base();
  const StepOperand base = address.base;
  // The base may be among the loaded registers.
  if (changes_base || loads) address.base = Compute(StepOperation::kCopy, 64, base);
  if (changes_base) {
    ComputeTo(base, StepOperation::kAdd, 64, base, ConstantOperand(distance));
  }
  if (!afterwards) address.displacement = distance;
  StepAddress second = address;
  second.displacement += bits / 8;
  const bool extends = !vector && opc == 1;  // LDPSW
  Transfer(address, bits, Field(word_, 4, 0), loads, extends);
  Transfer(second, bits, Field(word_, 14, 10), loads, extends);
  return true;
}

bool AArch64StepMaker::MakeOne() {
  const uint32_t size = Field(word_, 31, 30);
  const uint32_t opc = Field(word_, 23, 22);
  const bool vector = Bit(word_, 26);
  const unsigned bits = vector ? VectorBits() : 8U << size;
  const bool loads = vector ? Bit(word_, 22) : opc != 0;
  StepAddress address = Base();
  const StepOperand base = address.base;
  const uint32_t kind = Field(word_, 11, 10);
  if (!vector && size == 3 && opc == 2 && (Field(word_, 25, 24) == 1 || kind != 0b01))
    if (Field(word_, 25, 24) == 1 || !Bit(word_, 21) || kind == 0b10) return true;  // prefetch
  if (Field(word_, 25, 24) == 1) {
    address.displacement = uint64_t{Field(word_, 21, 10)} * (bits / 8);
  } else if (!Bit(word_, 21)) {
    const auto distance = static_cast<uint64_t>(SignedField(word_, 20, 12));
    if (kind == 0b01 || kind == 0b11) {
      address.base = Compute(StepOperation::kCopy, 64, base);
      ComputeTo(base, StepOperation::kAdd, 64, base, ConstantOperand(distance));
    }
    if (kind != 0b01) address.displacement = distance;
  } else if (kind == 0b10) {
    const unsigned shift = Bit(word_, 12) ? static_cast<unsigned>(bits == 128 ? 4 : size) : 0;
    address.index = ExtendedRegister(Field(word_, 20, 16), Field(word_, 15, 13), shift, 64);
  } else if (kind == 0b00 && !vector) {
    MakeAtomic(bits);
    return true;
  } else {
    return false;  // with an address that is authenticated first
  }
  if (vector || !loads || opc == 1) {
    Transfer(address, bits, Field(word_, 4, 0), loads);
    return true;
  }
  const unsigned wide = opc == 2 ? 64 : 32;
  ComputeTo(Result(wide), StepOperation::kSignExtend, wide, Load(address, bits, false),
            ConstantOperand(bits));
  return true;
}

// LDADD, LDCLR, LDEOR, LDSET, SWP and their variants; LDAPR is a load.
void AArch64StepMaker::MakeAtomic(unsigned bits) {
  const uint32_t operation = Field(word_, 15, 12);
  if (operation == 0b1100) return Transfer(Base(), bits, Field(word_, 4, 0), true);
  const StepOperand old = Load(Base(), bits, true);
  const StepOperand with = General(Field(word_, 20, 16), bits);
  StepOperand made = with;
  switch (operation) {
    case 0b0000:
      made = Compute(StepOperation::kAdd, bits, old, with);
      break;
    case 0b0001:
      made = Compute(StepOperation::kAnd, bits, old,
                     Compute(StepOperation::kXor, bits, with, ConstantOperand(~uint64_t{0})));
      break;
    case 0b0010:
      made = Compute(StepOperation::kXor, bits, old, with);
      break;
    case 0b0011:
      made = Compute(StepOperation::kOr, bits, old, with);
      break;
    case 0b1000:
      break;
    default:
      made = Compute(StepOperation::kOther, bits, old, with);
  }
  Store(Base(), bits, made, true);
  Move(Written(Field(word_, 4, 0), 64), 64, old);
}

}  // namespace flowback::aarch64
