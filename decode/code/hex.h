// SPDX-License-Identifier: MIT
// Numbers in this room's messages.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace flowback {

inline std::string Hex(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return "0x" + std::string(digits, end);
}

}  // namespace flowback
