// SPDX-License-Identifier: MIT
// Whether an instruction reads and writes memory in one. Inline: the emulator's plugin asks, too.
#pragma once

#include "decode/instruction/x86/prefixes.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// `code` has one instruction. On x86: instructions with a LOCK prefix, and XCHG with memory.
inline bool IsAtomicAccess(Bytes code, CodeMode mode) {
  constexpr uint8_t kLock = 0xf0;
  constexpr uint8_t kXchg = 0x86;   // and 0x87
  constexpr uint8_t kRegister = 3;  // ModRM.mod
  if (mode == CodeMode::kAArch64) return false;
  const Bytes opcode = x86::BehindPrefixes(code, mode == CodeMode::kX86_64);
  if (opcode.size() < 2) return false;
  const Bytes prefixes = code.first(code.size() - opcode.size());
  for (const uint8_t byte : prefixes)
    if (byte == kLock) return true;
  return (opcode[0] & 0xfe) == kXchg && opcode[1] >> 6 != kRegister;
}

}  // namespace flowback
