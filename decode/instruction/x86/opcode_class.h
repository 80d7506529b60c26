// SPDX-License-Identifier: MIT
// The opcodes that branch traces treat specially: the one table behind Classify.
#pragma once

#include <cstdint>

#include "flowback/model/instruction.h"

namespace flowback::x86 {

// What identifies an instruction of the one-byte (0) and two-byte (1) opcode maps; no other map has
// an instruction that concerns us.
struct OpcodeParts {
  uint8_t map = 0;
  uint8_t opcode = 0;
  uint8_t modrm = 0;   // 0 where the opcode has none
  bool rex_r = false;  // an extension bit of ModRM.reg is set
  bool osz = false;    // prefix 66
  uint8_t repeat = 0;  // the last of the prefixes F2 and F3; 0: none
  bool mode64 = false;

  uint8_t mod() const { return modrm >> 6; }
  uint8_t reg() const { return (modrm >> 3) & 7; }
};

// Sets `kind` and `flags` of `out`; direct branches get their displacement from the caller.
void SetClass(const OpcodeParts& parts, Instruction& out);

}  // namespace flowback::x86
