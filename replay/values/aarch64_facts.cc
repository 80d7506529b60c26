// SPDX-License-Identifier: MIT
// Only instructions named here have exact steps; any other one leaves its results unknown.
#include "replay/values/aarch64_facts.h"

#include "replay/values/known_bits.h"

namespace flowback::values {
namespace {

// The field from bit `high` down to bit `low`, as the architecture's manual names fields.
constexpr uint32_t Field(uint32_t word, unsigned high, unsigned low) {
  return word >> low & ((uint32_t{1} << (high - low + 1)) - 1);
}
constexpr bool Bit(uint32_t word, unsigned bit) { return (word >> bit & 1) != 0; }

// All but ADDG, SUBG and those that authenticate addresses.
bool IsByImmediate(uint32_t word) {
  constexpr uint32_t kTags = 0b011, kExtracts = 0b111;
  const uint32_t kind = Field(word, 25, 23);
  return kind != kTags && (kind != kExtracts || (Field(word, 30, 29) == 0 && !Bit(word, 21)));
}

bool IsByRegisters(uint32_t word) {
  // ADC and SBC.
  if (Field(word, 28, 21) == 0b11010000) return Field(word, 15, 10) == 0;
  const bool has_two_sources = Field(word, 28, 21) == 0b11010110 && !Bit(word, 30) && Bit(word, 28);
  if (!has_two_sources) return true;
  // Divisions, shifts, CRC32; others work on tags or the stack pointer.
  const uint32_t opcode = Field(word, 15, 10);
  return opcode == 2 || opcode == 3 || (opcode >= 8 && opcode <= 11) ||
         (opcode >= 16 && opcode <= 23);
}

// Hints that do nothing, barriers, and reading a system register.
bool IsSystem(uint32_t word) {
  if (Field(word, 31, 12) == 0b11010101000000110010) {
    const uint32_t hint = Field(word, 11, 5);
    const bool is_target = hint >= 32 && hint <= 38 && hint % 2 == 0;  // BTI
    return hint <= 6 || is_target;
  }
  if (Field(word, 31, 12) == 0b11010101000000110011) return true;
  return Field(word, 31, 20) == 0b110101010011;
}

bool IsControl(uint32_t word, InstructionFacts& facts) {
  const auto branch = [&](unsigned high, unsigned low) {
    const uint64_t distance = SignExtended(Field(word, high, low), high - low + 1) * 4;
    facts.target = facts.behind - 4 + distance;
  };
  const auto decide = [&] {
    facts.is_conditional = facts.decides_by_flags = true;
    return true;
  };
  if (Field(word, 31, 24) == 0b01010100) {  // B.cond, BC.cond
    branch(23, 5);
    constexpr uint32_t kAlways = 0b111;
    if (Field(word, 3, 1) != kAlways) return decide();
    facts.falls_through = false;
    return true;
  }
  if (Field(word, 30, 25) == 0b011010) {  // CBZ, CBNZ
    branch(23, 5);
    return decide();
  }
  if (Field(word, 30, 25) == 0b011011) {  // TBZ, TBNZ
    branch(18, 5);
    return decide();
  }
  if (Field(word, 30, 26) == 0b00101) {  // B, BL
    branch(25, 0);
    facts.falls_through = false;
    return true;
  }
  // BR, BLR, RET; those that authenticate the address are left out.
  if (Field(word, 31, 25) == 0b1101011) {
    facts.is_indirect = true;
    facts.falls_through = false;
    return Field(word, 24, 21) <= 2 && Field(word, 20, 10) == 0b11111000000 &&
           Field(word, 4, 0) == 0;
  }
  facts.is_system_call =
      Field(word, 31, 24) == 0b11010100 && Field(word, 23, 21) == 0 && Field(word, 4, 0) == 1;
  return facts.is_system_call || IsSystem(word);
}

bool IsMemory(uint32_t word) {
  const bool vector = Bit(word, 26);
  switch (Field(word, 29, 27)) {
    case 0b001: {  // exclusive, ordered, compare and swap
      if (vector || Field(word, 25, 24) != 0) return false;
      const bool is_pair = !Bit(word, 23) && Bit(word, 21);
      return !is_pair || (Bit(word, 31) && Bit(word, 22));  // of pairs only LDXP
    }
    case 0b011:  // literals
      return Field(word, 25, 24) == 0;
    case 0b101: {  // pairs; STGP works on tags
      const bool is_tagged = !vector && Field(word, 31, 30) == 1 && !Bit(word, 22);
      return !Bit(word, 25) && !is_tagged && Field(word, 31, 30) != 3;
    }
    case 0b111: {
      if (Bit(word, 25)) return false;
      if (Bit(word, 24) || !Bit(word, 21)) return true;
      const uint32_t kind = Field(word, 11, 10);
      const uint32_t operation = Field(word, 15, 12);
      if (kind == 0) return !vector && (operation <= 8 || operation == 12);
      return kind == 0b10;
    }
    default:
      return false;
  }
}

}  // namespace

void SetArmFacts(uint32_t word, InstructionFacts& facts) {
  constexpr uint32_t kZeroBlock = 0xd50b7420, kRegister = 31;
  if ((word & ~kRegister) == kZeroBlock) {
    if ((word & kRegister) != kRegister)
      facts.zeroes_block = static_cast<uint8_t>(word & kRegister);
    facts.is_opaque = !facts.zeroes_block;
    return;
  }
  bool is_exact = false;
  switch (Field(word, 28, 25)) {
    case 0b1000:
    case 0b1001:
      is_exact = IsByImmediate(word);
      break;
    case 0b0101:
    case 0b1101:
      is_exact = IsByRegisters(word);
      break;
    case 0b1010:
    case 0b1011:
      is_exact = IsControl(word, facts);
      break;
    case 0b0100:
    case 0b0110:
    case 0b1100:
    case 0b1110:
      is_exact = IsMemory(word);
      break;
    case 0b0111:
    case 0b1111:  // vectors; FJCVTZS sets the flags, too
      is_exact = Field(word, 31, 10) != 0b0001111001111110000000;
      break;
    default:
      break;
  }
  facts.is_opaque = !is_exact;
}

bool MayLoadPart(uint32_t word) {
  const bool is_memory = (Field(word, 28, 25) & 0b0101) == 0b0100;
  const bool is_one = Field(word, 29, 27) == 0b111 && !Bit(word, 26);
  return is_memory && !is_one;
}

}  // namespace flowback::values
