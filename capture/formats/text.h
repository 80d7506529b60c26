// SPDX-License-Identifier: MIT
// Numbers as messages show them.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace flowback {

// "0x1f": offsets and addresses.
inline std::string Hex(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return "0x" + std::string(digits, end);
}

// What helps against an input that is cut or contradicts itself.
inline constexpr char kDamageRemedy[] = "copy the file again, or record again";

inline std::string Dec(uint64_t value) { return std::to_string(value); }

// "1 byte", "2 bytes".
inline std::string ByteCount(uint64_t size) { return Dec(size) + (size == 1 ? " byte" : " bytes"); }

}  // namespace flowback
