// SPDX-License-Identifier: MIT
// The bytes that may stand before an opcode. [SDM "Instruction Prefixes", "REX Prefixes"]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flowback/base/bytes.h"

namespace flowback::x86 {

inline constexpr uint8_t kOperandSizePrefix = 0x66;

// Prefixes that any opcode may have in any mode: operand and address size, segments, LOCK, REPNE
// (which is BND, too) and REP. Among the segments are the hints of branches.
constexpr bool IsLegacyPrefix(uint8_t byte) {
  constexpr std::string_view kPrefixes = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3";
  return kPrefixes.find(static_cast<char>(byte)) != std::string_view::npos;
}

// In 64-bit code. Elsewhere the byte is an instruction: INC or DEC of a register.
constexpr bool IsRex(uint8_t byte) { return (byte & 0xf0) == 0x40; }

// What follows the prefixes; with `rex`, a REX prefix is one.
inline Bytes BehindPrefixes(Bytes code, bool rex) {
  size_t at = 0;
  while (at < code.size() && (IsLegacyPrefix(code[at]) || (rex && IsRex(code[at])))) ++at;
  return code.subspan(at);
}

}  // namespace flowback::x86
