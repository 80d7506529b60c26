// SPDX-License-Identifier: MIT
// Proofs from one operation: its result from its operands, and its operands from its result.
#pragma once

#include <cstdint>

#include "decode/instruction/effects.h"
#include "replay/values/known_bits.h"

namespace flowback::values {

// Where the flags' bits are, as in EFLAGS.
namespace flag {
inline constexpr uint64_t kCarry = 1 << 0;
inline constexpr uint64_t kParity = 1 << 2;
inline constexpr uint64_t kZero = 1 << 6;
inline constexpr uint64_t kSign = 1 << 7;
inline constexpr uint64_t kOverflow = 1 << 11;
}  // namespace flag

// The flags of AArch64's CPSR, as steps have them: their carry is the borrow.
constexpr uint64_t StepFlagsOfArm(uint64_t cpsr) {
  constexpr uint64_t kSign = 1U << 31, kZero = 1U << 30, kCarry = 1U << 29, kOverflow = 1U << 28;
  return ((cpsr & kSign) != 0 ? flag::kSign : 0) | ((cpsr & kZero) != 0 ? flag::kZero : 0) |
         ((cpsr & kCarry) == 0 ? flag::kCarry : 0) |
         ((cpsr & kOverflow) != 0 ? flag::kOverflow : 0);
}

// The operands are extended with zeros to 64 bits, and so is the result of `bits` bits. Flags are
// as in EFLAGS.
struct OperationValues {
  KnownBits a{};
  KnownBits b{};
  KnownBits c{};
  KnownBits result{};
  unsigned bits = 64;
  uint8_t condition = 0;
  bool same = false;      // a and b are one value
  bool conflict = false;  // the proven bits contradict each other
};

// Adds to the proven bits what the operation proves.
void Refine(StepOperation operation, OperationValues& values);

// Adds what `more` proves to `bits`. False: they contradict each other.
constexpr bool Learn(KnownBits& bits, const KnownBits& more) {
  if (((bits.value ^ more.value) & bits.known & more.known) != 0) return false;
  bits.known |= more.known;
  bits.value |= more.value;
  return true;
}

}  // namespace flowback::values
