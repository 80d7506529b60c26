// SPDX-License-Identifier: MIT
// An instruction of AArch64: a word of 32 bits, little-endian in memory even if data is not.
#pragma once

#include <cstdint>

#include "flowback/base/bytes.h"

namespace flowback::aarch64 {

inline constexpr unsigned kLength = 4;

// REQUIRES: code.size() >= kLength.
inline uint32_t WordAt(Bytes code) {
  return uint32_t{code[0]} | uint32_t{code[1]} << 8 | uint32_t{code[2]} << 16 |
         uint32_t{code[3]} << 24;
}

// The field from bit `high` down to bit `low`, as the architecture's manual names fields.
constexpr uint32_t Field(uint32_t word, unsigned high, unsigned low) {
  return word >> low & ((uint32_t{1} << (high - low + 1)) - 1);
}
constexpr bool Bit(uint32_t word, unsigned bit) { return (word >> bit & 1) != 0; }
constexpr int64_t SignedField(uint32_t word, unsigned high, unsigned low) {
  const uint64_t sign = uint64_t{1} << (high - low);
  return static_cast<int64_t>((Field(word, high, low) ^ sign) - sign);
}

}  // namespace flowback::aarch64
