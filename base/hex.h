// SPDX-License-Identifier: MIT
// Numbers in messages and texts.
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

}  // namespace flowback
