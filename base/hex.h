// SPDX-License-Identifier: MIT
// Numbers in messages and texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace flowback {

// "0x1f": offsets and addresses.
inline void AppendHex(uint64_t value, std::string& text) {
  char digits[18] = {'0', 'x'};
  const auto end = std::to_chars(digits + 2, digits + sizeof digits, value, 16).ptr;
  text.append(digits, end);
}
inline std::string Hex(uint64_t value) {
  std::string text;
  AppendHex(value, text);
  return text;
}

}  // namespace flowback
