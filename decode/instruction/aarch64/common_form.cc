// SPDX-License-Identifier: MIT
// The words are divided by bits 28 to 25, and on by further fields, as the architecture's manual
// does in its chapter on the encoding (REFERENCES.md). Where a field's value is not allocated the
// word is not said to be an instruction, and LLVM is asked.
#include "decode/instruction/aarch64/common_form.h"

#include <bit>

#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

constexpr uint32_t kZeroRegister = 31;

bool Is64Bit(uint32_t word) { return Bit(word, 31); }

// The immediate of AND, ORR, EOR is a run of ones, rotated, and repeated in elements of 2 to 64
// bits; N and imms hold the element's size and the run's length, which is not all of it.
bool IsBitmask(uint32_t word) {
  const uint32_t n = Field(word, 22, 22);
  const uint32_t imms = Field(word, 15, 10);
  if (n != 0 && !Is64Bit(word)) return false;
  const uint32_t size = n << 6 | (~imms & 0x3f);
  if (size < 2) return false;
  const uint32_t levels = std::bit_floor(size) - 1;
  return (imms & levels) != levels;
}

bool IsImmediate(uint32_t word) {
  const uint32_t opc = Field(word, 30, 29);
  const bool n_fits = Bit(word, 22) == Is64Bit(word);
  switch (Field(word, 25, 23)) {
    case 0b000:  // ADR, ADRP
    case 0b001:
    case 0b010:  // ADD, SUB
      return true;
    case 0b100:  // AND, ORR, EOR
      return IsBitmask(word);
    case 0b101:  // MOVN, MOVZ, MOVK
      return opc != 0b01 && (Is64Bit(word) || !Bit(word, 22));
    case 0b110:  // SBFM, BFM, UBFM
      return opc != 0b11 && n_fits && (Is64Bit(word) || (!Bit(word, 21) && !Bit(word, 15)));
    case 0b111:  // EXTR
      return opc == 0 && !Bit(word, 21) && n_fits && (Is64Bit(word) || !Bit(word, 15));
    default:
      return false;
  }
}

bool IsShift(uint32_t word) { return Is64Bit(word) || !Bit(word, 15); }

bool IsOneSource(uint32_t word) {
  const uint32_t opcode = Field(word, 15, 10);
  if (Field(word, 20, 16) != 0) return false;
  return opcode <= 5 && (opcode != 3 || Is64Bit(word));
}

bool IsTwoSources(uint32_t word) {
  const uint32_t opcode = Field(word, 15, 10);
  return opcode == 2 || opcode == 3 || opcode >> 2 == 2;
}

bool IsThreeSources(uint32_t word) {
  if (Field(word, 30, 29) != 0) return false;
  switch (Field(word, 23, 21)) {
    case 0b000:  // MADD, MSUB
      return true;
    case 0b001:  // SMADDL, SMSUBL
    case 0b101:
      return Is64Bit(word);
    case 0b010:  // SMULH
    case 0b110:
      return Is64Bit(word) && !Bit(word, 15);
    default:
      return false;
  }
}

bool IsRegisters(uint32_t word) {
  const bool sets_flags = Bit(word, 29);
  if (!Bit(word, 28)) {
    if (!Bit(word, 24)) return IsShift(word);                              // AND, ORR, EOR, BIC
    if (!Bit(word, 21)) return Field(word, 23, 22) != 3 && IsShift(word);  // ADD, SUB
    return Field(word, 23, 22) == 0 && Field(word, 12, 10) <= 4;  // of an extended register
  }
  if (Bit(word, 24)) return IsThreeSources(word);
  switch (Field(word, 23, 21)) {
    case 0b000:  // ADC, SBC
      return Field(word, 15, 10) == 0;
    case 0b010:  // CCMN, CCMP
      return sets_flags && !Bit(word, 10) && !Bit(word, 4);
    case 0b100:  // CSEL, CSINC, CSINV, CSNEG
      return !sets_flags && !Bit(word, 11);
    case 0b110:
      if (sets_flags) return false;
      return Bit(word, 30) ? IsOneSource(word) : IsTwoSources(word);
    default:
      return false;
  }
}

// What loads and stores of one register have in common: the register's size and kind.
bool IsTransfer(uint32_t word, bool prefetches) {
  const uint32_t size = Field(word, 31, 30);
  const uint32_t opc = Field(word, 23, 22);
  if (Bit(word, 26)) return size == 0 || opc < 2;
  if (size == 3 && opc == 2) return prefetches;
  return size < 2 || opc != 3;
}

// A load into its own base, or a store of it, whose address it changes: what happens is not
// defined.
bool ChangesItself(uint32_t word, uint32_t transferred) {
  const uint32_t base = Field(word, 9, 5);
  return !Bit(word, 26) && base != kZeroRegister && base == transferred;
}

bool IsRegisterTransfer(uint32_t word) {
  const uint32_t kind = Field(word, 25, 24);
  if (kind == 1) return IsTransfer(word, true);
  if (kind != 0) return false;
  const uint32_t form = Field(word, 11, 10);
  if (Bit(word, 21)) return form == 2 && Bit(word, 14) && IsTransfer(word, true);
  if (form == 0) return IsTransfer(word, true);
  if (form == 2) return !Bit(word, 26) && IsTransfer(word, false);
  return IsTransfer(word, false) && !ChangesItself(word, Field(word, 4, 0));
}

bool IsPairTransfer(uint32_t word) {
  const uint32_t opc = Field(word, 31, 30);
  const bool vector = Bit(word, 26);
  const bool load = Bit(word, 22);
  const uint32_t form = Field(word, 24, 23);
  const uint32_t first = Field(word, 4, 0);
  const uint32_t second = Field(word, 14, 10);
  if (opc == 3 || (opc == 1 && !vector && (form == 0 || !load))) return false;
  if (load && first == second) return false;
  const bool changes_base = form == 1 || form == 3;
  return !changes_base || (!ChangesItself(word, first) && !ChangesItself(word, second));
}

bool IsTransferForm(uint32_t word) {
  switch (Field(word, 29, 28)) {
    case 0b01:  // of a literal
      return Field(word, 25, 24) == 0 && (!Bit(word, 26) || Field(word, 31, 30) != 3);
    case 0b10:
      return !Bit(word, 25) && IsPairTransfer(word);
    case 0b11:
      return IsRegisterTransfer(word);
    default:
      return false;
  }
}

bool IsSystem(uint32_t word) {
  constexpr uint32_t kHints = 0xd503201f;  // NOP, PACIASP, BTI, ...
  constexpr uint32_t kHintFields = 0xfe0;
  if ((word & ~kHintFields) == kHints) return true;
  return Field(word, 31, 22) == 0b1101010100 && Bit(word, 20);  // MRS, MSR
}

}  // namespace

bool IsCommonForm(uint32_t word) {
  switch (Field(word, 28, 25)) {
    case 0b1000:
    case 0b1001:
      return IsImmediate(word);
    case 0b1010:
    case 0b1011:
      return IsSystem(word);
    case 0b0100:
    case 0b0110:
    case 0b1100:
    case 0b1110:
      return IsTransferForm(word);
    case 0b0101:
    case 0b1101:
      return IsRegisters(word);
    default:
      return false;
  }
}

bool MayBeInstruction(uint32_t word) {
  switch (Field(word, 28, 25)) {
    case 0b0000:  // SME's where the uppermost bit is set
      return Bit(word, 31);
    case 0b0001:
    case 0b0011:
      return false;
    default:
      return true;
  }
}

}  // namespace flowback::aarch64
