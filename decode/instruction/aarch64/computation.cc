// SPDX-License-Identifier: MIT
// What compilers make the jump tables of a switch of:
//
//   adrp x0, table ; add x0, x0, :lo12:table       the table
//   ldrb w0, [x0, w1, uxtw]                        an entry: 1, 2 or 4 bytes, or an address
//   adr x1, place ; add x0, x1, w0, sxtb #2        how far it is from there, in instructions
//   br x0
//
// The written registers are known for every instruction: if in doubt, they are all registers, and
// no value is seen through it. The fields are those of the architecture's manual.
#include "decode/instruction/aarch64/computation.h"

#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

constexpr uint32_t kAllRegisters = ~uint32_t{0};
// A call may change X0 to X18 and X30, by the procedure call standard.
constexpr uint32_t kChangedByCalls = 0x4007ffff;
constexpr uint32_t kNone = 31;

uint8_t Numbered(uint32_t field) {
  return field == kNone ? kNoRegister : static_cast<uint8_t>(field);
}
uint32_t Written(uint32_t field) { return field == kNone ? 0 : uint32_t{1} << field; }

uint8_t To(uint32_t word) { return Numbered(Field(word, 4, 0)); }
uint8_t First(uint32_t word) { return Numbered(Field(word, 9, 5)); }
uint8_t Second(uint32_t word) { return Numbered(Field(word, 20, 16)); }
uint8_t WidthOf(uint32_t word) { return Bit(word, 31) ? 64 : 32; }

uint32_t WrittenByTransferOfControl(uint32_t word) {
  const bool by_register = Field(word, 31, 25) == 0b1101011;
  if (by_register && !Bit(word, 21)) return 0;  // BR, RET, ERET
  if (by_register || Field(word, 31, 26) == 0b100101) return kChangedByCalls;
  if (Field(word, 31, 24) == 0b11010100) return kChangedByCalls;  // SVC and its likes
  const bool system = Field(word, 31, 22) == 0b1101010100;
  return system && Bit(word, 21) ? Written(Field(word, 4, 0)) : 0;  // MRS, SYSL
}

// One register of the general ones, loaded or stored in whichever way.
uint32_t WrittenByOne(uint32_t word) {
  const uint32_t base = Written(Field(word, 9, 5));
  const bool unscaled = Field(word, 25, 24) == 0;
  const bool changes_base = unscaled && !Bit(word, 21) && Bit(word, 10);
  if (Bit(word, 26)) return changes_base ? base : 0;
  // Atomic, or with an address that is authenticated first.
  const bool unusual = unscaled && Bit(word, 21) && Field(word, 11, 10) != 0b10;
  const bool stores = Field(word, 23, 22) == 0 && !unusual;
  const uint32_t loaded = stores ? 0 : Written(Field(word, 4, 0));
  return changes_base || unusual ? loaded | base : loaded;
}

uint32_t WrittenByMemory(uint32_t word) {
  const uint32_t one = Written(Field(word, 4, 0));
  const uint32_t base = Written(Field(word, 9, 5));
  const uint32_t pair = one | Written(Field(word, 14, 10));
  switch (Field(word, 29, 28)) {
    case 0b00:  // exclusive, compare and swap (also of pairs); of vectors only the base
      if (Bit(word, 26)) return base;
      return pair | Written(Field(word, 20, 16)) | Written(Field(word, 20, 16) | 1) |
             Written(Field(word, 4, 0) | 1);
    case 0b01:  // of a literal; others here copy and fill memory, or are of less usual kinds
      if (!Bit(word, 24)) return Bit(word, 26) ? 0 : one;
      return one | base | Written(Field(word, 20, 16));
    case 0b10: {
      const bool loads = Bit(word, 22) && !Bit(word, 26);
      const bool changes_base = Bit(word, 23);
      return (loads ? pair : 0) | (changes_base ? base : 0);
    }
    default:
      return WrittenByOne(word);
  }
}

// Handles only those vector instructions that write a general register.
uint32_t WrittenByVectors(uint32_t word) {
  const bool of_fixed_point = !Bit(word, 21);
  const bool converts =
      Field(word, 30, 24) == 0b0011110 && (of_fixed_point || Field(word, 15, 10) == 0);
  const bool moves = Field(word, 28, 21) == 0b01110000 && Bit(word, 10);
  return converts || moves ? Written(Field(word, 4, 0)) : 0;
}

uint32_t WritesOf(uint32_t word) {
  switch (Field(word, 28, 25)) {
    case 0b1000:  // immediates
    case 0b1001:
    case 0b0101:  // registers
    case 0b1101:
      return Written(Field(word, 4, 0));
    case 0b1010:
    case 0b1011:
      return WrittenByTransferOfControl(word);
    case 0b0100:
    case 0b0110:
    case 0b1100:
    case 0b1110:
      return WrittenByMemory(word);
    case 0b0111:
    case 0b1111:
      return WrittenByVectors(word);
    default:
      return kAllRegisters;
  }
}

// ADR computes an address, ADRP one whose lowest twelve bits are zero.
void SetPlace(uint32_t word, uint64_t address, Computation& result) {
  const auto distance = static_cast<uint64_t>(SignedField(word, 23, 5)) << 2 | Field(word, 30, 29);
  const bool of_page = Bit(word, 31);
  result.operation = Operation::kConstant;
  result.to = To(word);
  result.constant = of_page ? (address & ~uint64_t{0xfff}) + (distance << 12) : address + distance;
}

// ADD, SUB, and CMP, which is a SUBS.
void SetSumWithImmediate(uint32_t word, Computation& result) {
  const uint64_t constant = uint64_t{Field(word, 21, 10)} << (Bit(word, 22) ? 12 : 0);
  const bool subtracts = Bit(word, 30);
  result.to = To(word);
  if (Bit(word, 29)) {
    if (!subtracts) return;
    result.operation = Operation::kCompare;
    result.from = First(word);
    result.constant = constant;
  } else if (WidthOf(word) == 64) {
    result.operation = Operation::kAddress;
    result.memory.base = First(word);
    result.memory.displacement = subtracts ? -constant : constant;
    if (result.memory.base == kNoRegister) result.operation = Operation::kOther;  // of the stack
  }
}

// AND with 2^n - 1: a run of ones that is neither rotated nor repeated.
void SetMask(uint32_t word, Computation& result) {
  const bool is_and = Field(word, 30, 29) == 0;
  const bool repeats = Bit(word, 22) != Bit(word, 31) || (!Bit(word, 22) && Bit(word, 15));
  if (!is_and || repeats || Field(word, 21, 16) != 0) return;
  result.operation = Operation::kMask;
  result.to = To(word);
  result.from = First(word);
  result.constant = (uint64_t{2} << Field(word, 15, 10)) - 1;
}

// MOVZ; MOVN and MOVK are of no use here.
void SetConstant(uint32_t word, Computation& result) {
  if (Field(word, 30, 29) != 0b10) return;
  result.operation = Operation::kConstant;
  result.to = To(word);
  result.constant = uint64_t{Field(word, 20, 5)} << (16 * Field(word, 22, 21));
}

// SXTB, UXTH, SXTW and other extensions copy; UBFX takes bits from the middle.
void SetBits(uint32_t word, Computation& result) {
  const uint32_t opc = Field(word, 30, 29);
  const uint32_t lowest = Field(word, 21, 16);
  const uint32_t highest = Field(word, 15, 10);
  if (opc == 0b01 || lowest > highest) return;
  result.to = To(word);
  result.from = First(word);
  if (lowest == 0 && highest == 31) {
    result.operation = Operation::kCopy;
    result.bits = 32;
  } else if (opc == 0b10 && highest - lowest < 32) {
    result.operation = Operation::kMask;
    result.constant = (uint64_t{2} << (highest - lowest)) - 1;
    if (lowest != 0) result.from = kNoRegister;
  }
}

void SetByImmediate(uint32_t word, uint64_t address, Computation& result) {
  switch (Field(word, 25, 23)) {
    case 0b000:
    case 0b001:
      return SetPlace(word, address, result);
    case 0b010:
      return SetSumWithImmediate(word, result);
    case 0b100:
      return SetMask(word, result);
    case 0b101:
      return SetConstant(word, result);
    case 0b110:
      return SetBits(word, result);
    default:
      return;
  }
}

// ORR of the zero register: MOV.
void SetCopy(uint32_t word, Computation& result) {
  const bool is_move = Field(word, 30, 29) == 0b01 && !Bit(word, 21) && Field(word, 15, 10) == 0 &&
                       Field(word, 23, 22) == 0 && Field(word, 9, 5) == kNone;
  if (!is_move) return;
  result.to = To(word);
  result.from = Second(word);
  result.bits = WidthOf(word);
  result.operation = result.from == kNoRegister ? Operation::kConstant : Operation::kCopy;
}

// ADD of two registers; the second may be shifted to the left, or extended before.
void SetSum(uint32_t word, Computation& result) {
  if (Field(word, 30, 29) != 0 || WidthOf(word) != 64) return;
  MemoryAddress sum{.base = First(word), .index = Second(word)};
  if (Bit(word, 21)) {
    const uint32_t option = Field(word, 15, 13);
    sum.scale = static_cast<uint8_t>(1 << Field(word, 12, 10));
    sum.index_bits = static_cast<uint8_t>(8 << (option & 3));
    sum.index_signed = (option & 4) != 0;
  } else {
    if (Field(word, 23, 22) != 0 || Field(word, 15, 10) > 4) return;
    sum.scale = static_cast<uint8_t>(1 << Field(word, 15, 10));
  }
  result.operation = Operation::kAddress;
  result.to = To(word);
  result.memory = sum;
}

void SetByRegisters(uint32_t word, Computation& result) {
  if (Bit(word, 28)) return;
  if (Bit(word, 24))
    SetSum(word, result);
  else
    SetCopy(word, result);
}

// LDR, LDRB, LDRH and those that extend by the sign, of base and index or of base and distance.
void SetLoad(uint32_t word, Computation& result) {
  const uint32_t size = Field(word, 31, 30);
  const uint32_t opc = Field(word, 23, 22);
  if (Field(word, 29, 27) != 0b111 || Bit(word, 26) || opc == 0 || (size == 3 && opc != 1)) return;
  const bool with_distance = Field(word, 25, 24) == 1;
  const bool with_index = Field(word, 25, 24) == 0 && Bit(word, 21) && Field(word, 11, 10) == 0b10;
  result.bits = static_cast<uint8_t>(8 << size);
  result.is_signed = opc != 1;
  result.to = To(word);
  result.operation = Operation::kLoad;
  result.memory.base = First(word);
  if (with_distance) {
    result.memory.displacement = uint64_t{Field(word, 21, 10)} << size;
  } else if (with_index) {
    const uint32_t option = Field(word, 15, 13);
    result.memory.index = Second(word);
    result.memory.scale = static_cast<uint8_t>(Bit(word, 12) ? 1 << size : 1);
    result.memory.index_bits = static_cast<uint8_t>((option & 1) != 0 ? 0 : 32);
    result.memory.index_signed = (option & 4) != 0;
  } else {
    result.memory = {};  // its base changes, or the distance may be negative: no table
  }
  if (result.memory.base == kNoRegister) result.memory = {};  // of the stack
}

void SetJump(uint32_t word, Computation& result) {
  const uint32_t opc = Field(word, 24, 21);
  if (Field(word, 31, 25) != 0b1101011 || (opc != 0b0000 && opc != 0b1000)) return;
  result.operation = Operation::kJump;
  result.from = First(word);
}

}  // namespace

Computation ComputationOf(Bytes code, uint64_t address, CodeMode) {
  Computation result;
  result.writes = kAllRegisters;
  if (code.size() < kLength) return result;
  const uint32_t word = WordAt(code);
  result.writes = WritesOf(word);
  switch (Field(word, 28, 25)) {
    case 0b1000:
    case 0b1001:
      SetByImmediate(word, address, result);
      break;
    case 0b0101:
    case 0b1101:
      SetByRegisters(word, result);
      break;
    case 0b1010:
    case 0b1011:
      SetJump(word, result);
      break;
    default:
      SetLoad(word, result);
  }
  return result;
}

}  // namespace flowback::aarch64
