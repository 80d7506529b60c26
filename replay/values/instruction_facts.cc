// SPDX-License-Identifier: MIT
#include "replay/values/instruction_facts.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "flowback/base/bytes.h"
#include "replay/values/aarch64_facts.h"
#include "replay/values/known_bits.h"

namespace flowback::values {
namespace {

// The opcode behind the prefixes of an instruction.
struct Opcode {
  std::span<const uint8_t> bytes;  // from the opcode on
  bool narrow = false;             // prefix 66
  bool short_address = false;      // prefix 67
  bool has_f3 = false;
  bool has_f2 = false;
  bool is_32 = false;  // of 32-bit code
  bool wide = false;   // REX.W

  uint8_t At(size_t i) const { return i < bytes.size() ? bytes[i] : 0; }
  bool IsTwo(uint8_t second) const { return At(0) == 0x0f && At(1) == second; }
};

Opcode OpcodeOf(std::span<const uint8_t> bytes, CodeMode mode) {
  Opcode opcode;
  opcode.is_32 = mode == CodeMode::kX86_32;
  size_t at = 0;
  for (; at < bytes.size(); ++at) {
    const uint8_t byte = bytes[at];
    if (byte == 0x66)
      opcode.narrow = true;
    else if (byte == 0x67)
      opcode.short_address = true;
    else if (byte == 0xf3)
      opcode.has_f3 = true;
    else if (byte == 0xf2)
      opcode.has_f2 = true;
    else if (byte != 0xf0 && byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 &&
             byte != 0x64 && byte != 0x65)
      break;
  }
  if (!opcode.is_32 && at < bytes.size() && (bytes[at] & 0xf0) == 0x40)
    opcode.wide = (bytes[at++] & 8) != 0;
  opcode.bytes = bytes.subspan(at);
  return opcode;
}

bool IsNearBranch(const Opcode& opcode) {
  const uint8_t first = opcode.At(0);
  const unsigned operation = opcode.At(1) >> 3 & 7;
  return (first >= 0x70 && first <= 0x7f) || (first >= 0xe0 && first <= 0xe3) ||
         (first == 0x0f && (opcode.At(1) & 0xf0) == 0x80) || first == 0xe8 || first == 0xe9 ||
         first == 0xeb || first == 0xc2 || first == 0xc3 ||
         (first == 0xff && (operation == 2 || operation == 4));
}

// Opaque only in 32-bit code: the stack's width of segment registers depends on the processor,
// PUSHA and POPA move all registers, far transfers and LDS and LES change segments, and a prefix
// cuts the program counter to 16 bits.
bool IsOpaqueIn32(const Opcode& opcode) {
  switch (opcode.At(0)) {
    case 0x06:
    case 0x07:
    case 0x0e:
    case 0x16:
    case 0x17:
    case 0x1e:
    case 0x1f:
    case 0x60:
    case 0x61:
    case 0x9a:
    case 0xea:
      return true;
    case 0xc4:
    case 0xc5:
      return opcode.At(1) < 0xc0;
    case 0x0f:
      return opcode.At(1) == 0xb2 || (opcode.narrow && IsNearBranch(opcode));
    default:
      return opcode.narrow && IsNearBranch(opcode);
  }
}

// Instructions whose steps leave out a part: rare ones that compilers do not write. Their other
// effects are unknown.
bool IsOpaque(const Opcode& opcode) {
  const uint8_t first = opcode.At(0);
  const uint8_t modrm_register = opcode.At(2) >> 3 & 7;
  const bool is_register_form = opcode.At(2) >= 0xc0;
  if (opcode.is_32 && IsOpaqueIn32(opcode)) return true;
  if (opcode.narrow && (first == 0xc9 || first == 0x9d || first == 0x9c)) return true;
  if (opcode.short_address && first >= 0xe0 && first <= 0xe3) return true;
  // PUSH and POP of FS and GS: the stack pointer moves by 8, not by the operand's size.
  if (opcode.IsTwo(0xa0) || opcode.IsTwo(0xa1) || opcode.IsTwo(0xa8) || opcode.IsTwo(0xa9))
    return true;
  // Moves to segment registers, LFS and LGS change FS or GS; WRFSBASE and WRGSBASE do so.
  if (first == 0x8e || opcode.IsTwo(0xb4) || opcode.IsTwo(0xb5)) return true;
  if (opcode.IsTwo(0xae) && opcode.has_f3 && is_register_form && modrm_register >= 2 &&
      modrm_register <= 3)
    return true;
  // System instructions: CLZERO, XBEGIN, XEND, SWAPGS and others; far transfers; ENTER.
  if (opcode.IsTwo(0x01) && is_register_form) return true;
  if (first == 0xc7 && opcode.At(1) == 0xf8) return true;
  return first == 0xcf || first == 0xca || first == 0xcb || first == 0xc8 ||
         (first == 0xff && ((opcode.At(1) >> 3 & 7) == 3 || (opcode.At(1) >> 3 & 7) == 5)) ||
         opcode.IsTwo(0x07) || opcode.IsTwo(0x34) || opcode.IsTwo(0x35);
}

// VMASKMOVPS, VMASKMOVPD, VPMASKMOVD and VPMASKMOVQ, and what AVX-512 masks.
bool HasMask(const Opcode& opcode) {
  if (opcode.At(0) == 0x62) return (opcode.At(3) & 7) != 0 || (opcode.is_32 && opcode.At(1) < 0xc0);
  const uint8_t third = opcode.At(3);
  return opcode.At(0) == 0xc4 && (opcode.At(1) & 0x1f) == 2 &&
         (third == 0x2e || third == 0x2f || third == 0x8e);
}

// MOVS, STOS and INS, at the full width of addresses.
void SetString(const Opcode& opcode, InstructionFacts& facts) {
  const uint8_t operation = opcode.At(0) & 0xfe;
  if ((operation != 0xa4 && operation != 0xaa && operation != 0x6c) || opcode.short_address) return;
  const uint8_t word = opcode.wide ? 8 : opcode.narrow ? 2 : 4;
  facts.element = (opcode.At(0) & 1) == 0 ? 1 : word;
  facts.repeats = opcode.has_f2 || opcode.has_f3;
}

uint64_t NumberAt(std::span<const uint8_t> bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size && at + i < bytes.size(); ++i)
    number |= uint64_t{bytes[at + i]} << 8 * i;
  return SignExtended(number, static_cast<unsigned>(size * 8));
}

void SetTransfer(const Opcode& opcode, InstructionFacts& facts) {
  const uint8_t first = opcode.At(0);
  const auto set_target = [&](size_t at, size_t size) {
    facts.target =
        (facts.behind + NumberAt(opcode.bytes, at, size)) & LowBits(opcode.is_32 ? 32 : 64);
  };
  if (first >= 0x70 && first <= 0x7f) {
    facts.is_conditional = facts.decides_by_flags = true;
    set_target(1, 1);
  } else if (first == 0x0f && (opcode.At(1) & 0xf0) == 0x80) {
    facts.is_conditional = facts.decides_by_flags = true;
    set_target(2, 4);
  } else if (first >= 0xe0 && first <= 0xe3) {
    facts.is_conditional = true;
    // LOOPE and LOOPNE also look at flags that their steps leave out.
    facts.decides_by_flags = first >= 0xe2;
    set_target(1, 1);
  } else if (first == 0xeb) {
    set_target(1, 1);
  } else if (first == 0xe9 || first == 0xe8) {
    set_target(1, 4);
  } else if (first == 0xc2 || first == 0xc3) {
    facts.is_indirect = true;
  } else if (first == 0xff) {
    const unsigned operation = opcode.At(1) >> 3 & 7;
    facts.is_indirect = operation == 2 || operation == 4;
  }
  facts.falls_through = facts.is_conditional || (!facts.target && !facts.is_indirect);
}

}  // namespace

bool InstructionFacts::LeadsTo(uint64_t address) const {
  // A system call may have no known next address: it returns after itself.
  if (next == 0 && !is_system_call) return false;
  if (next != 0 && next != address && !is_system_call) return false;
  return is_indirect || (falls_through && address == behind) || (target && *target == address);
}

InstructionFacts FactsOf(const PathInstruction& instruction, CodeMode mode) {
  InstructionFacts facts;
  facts.next = instruction.next;
  facts.behind = (instruction.address + instruction.length) & TraitsOf(mode).address_mask;
  if (mode == CodeMode::kX86_16 || instruction.mode != mode || instruction.length == 0) {
    facts.is_opaque = true;
    return facts;
  }
  if (mode == CodeMode::kAArch64) {
    SetArmFacts(static_cast<uint32_t>(LoadLittleEndian(instruction.bytes.data(), 4)), facts);
    return facts;
  }
  const Opcode opcode = OpcodeOf(
      std::span<const uint8_t>(instruction.bytes.data(), std::min<size_t>(instruction.length, 15)),
      mode);
  facts.is_system_call =
      opcode.is_32 ? opcode.At(0) == 0xcd && opcode.At(1) == 0x80 : opcode.IsTwo(0x05);
  facts.is_opaque = IsOpaque(opcode);
  facts.has_mask = HasMask(opcode);
  SetString(opcode, facts);
  SetTransfer(opcode, facts);
  return facts;
}

// MOVS, CMPS, STOS, LODS, SCAS, INS, OUTS.
bool Repeats(std::span<const uint8_t> code, CodeMode mode) {
  if (mode == CodeMode::kAArch64) return false;
  const Opcode opcode = OpcodeOf(code, mode);
  if (!opcode.has_f2 && !opcode.has_f3) return false;
  const uint8_t first = opcode.At(0);
  return (first >= 0xa4 && first <= 0xa7) || (first >= 0xaa && first <= 0xaf) ||
         (first >= 0x6c && first <= 0x6f);
}

}  // namespace flowback::values
