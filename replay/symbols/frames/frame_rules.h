// SPDX-License-Identifier: MIT
// How a frame's caller is found from a place in its code: where the frame begins (its canonical
// frame address, CFA), and where the caller's registers are. [DWARF 5, "Call Frame Information"]
//
//   push %rbp             CFA is %rsp+8; the return address is at CFA-8
//   mov  %rsp,%rbp        CFA is %rsp+16; the caller's %rbp is at CFA-16
//   ...                   CFA is %rbp+16
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "flowback/base/bytes.h"
#include "replay/symbols/frames/encoded_values.h"

namespace flowback::symbols {

// DWARF's numbers of registers that can be followed: x86-64 has 17, AArch64 32.
inline constexpr unsigned kFrameRegisters = 33;

struct FrameRule {
  enum class Kind : uint8_t {
    kSame,          // the caller's is still there
    kUndefined,     // it is lost; of a return address: there is no caller
    kAtCfa,         // in memory, at CFA + offset
    kIsCfa,         // CFA + offset itself
    kRegister,      // in the register with the number `offset`
    kAtExpression,  // in memory, where the expression says
    kIsExpression,  // what the expression says
  };
  Kind kind = Kind::kSame;
  int64_t offset = 0;
  Bytes expression{};
};

struct FrameRules {
  // CFA: a register and an offset, or an expression where there is one.
  unsigned cfa_register = 0;
  int64_t cfa_offset = 0;
  Bytes cfa_expression;
  std::array<FrameRule, kFrameRegisters> registers;
  unsigned return_register = 0;
  // The kernel made the frame: its caller goes on at the very address, not behind a call.
  bool of_signal = false;
  // The rule comes from the code, not from a table (frame_scan.h).
  bool from_code = false;
  // The return address is signed (AArch64).
  bool is_signed = false;
};

// The instructions with the rules: those that many frames share, and the frame's own.
struct FrameProgram {
  Bytes common;
  Bytes own;
  uint64_t common_address = 0;  // of these bytes, as linked
  uint64_t own_address = 0;
  uint64_t begin = 0;  // the address that the frame's code begins at
  uint64_t code_unit = 1;
  int64_t data_unit = 1;
  uint8_t pointers = 0;  // encoding of addresses
  unsigned address_bytes = 8;
  unsigned return_register = 0;
  bool of_signal = false;
  bool is_aarch64 = false;
};

// The rules at an address of the frame's code. Empty: they can't be read.
std::optional<FrameRules> RulesAt(const FrameProgram& program, uint64_t address);

}  // namespace flowback::symbols
