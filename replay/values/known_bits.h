// SPDX-License-Identifier: MIT
// A 64-bit value with some proven bits.
#pragma once

#include <cstdint>

namespace flowback::values {

constexpr uint64_t LowBits(unsigned bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

constexpr uint64_t SignExtended(uint64_t value, unsigned bits) {
  if (bits == 0 || bits >= 64) return value;
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return ((value & LowBits(bits)) ^ sign) - sign;
}

struct KnownBits {
  uint64_t known = 0;  // the proven bits
  uint64_t value = 0;  // zero where a bit is not proven

  constexpr bool all() const { return known == ~uint64_t{0}; }
  constexpr uint64_t zeros() const { return known & ~value; }
  constexpr uint64_t ones() const { return value; }
  // The bits within `mask`; the others are not proven.
  constexpr KnownBits Masked(uint64_t mask) const {
    return {.known = known & mask, .value = value & mask};
  }
  // The lowest bits, extended with zeros.
  constexpr KnownBits ZeroExtended(unsigned bits) const {
    return {.known = known | ~LowBits(bits), .value = value & LowBits(bits)};
  }

  friend constexpr bool operator==(const KnownBits&, const KnownBits&) = default;
};

constexpr KnownBits Proven(uint64_t value) { return {.known = ~uint64_t{0}, .value = value}; }

constexpr KnownBits Inverted(const KnownBits& bits) {
  return {.known = bits.known, .value = bits.known & ~bits.value};
}

// A bit of a sum is proven where both operands' bits and the carry into it are. The carries lie
// between those of the least and the greatest sum that the proven bits allow.
constexpr KnownBits Sum(const KnownBits& a, const KnownBits& b, bool carry = false) {
  const uint64_t greatest = ~a.zeros() + ~b.zeros() + (carry ? 1 : 0);
  const uint64_t least = a.ones() + b.ones() + (carry ? 1 : 0);
  const uint64_t no_carry = ~(greatest ^ a.zeros() ^ b.zeros());
  const uint64_t sure_carry = least ^ a.ones() ^ b.ones();
  const uint64_t known = a.known & b.known & (no_carry | sure_carry);
  return {.known = known, .value = least & known};
}

constexpr KnownBits Difference(const KnownBits& a, const KnownBits& b) {
  return Sum(a, Inverted(b), true);
}

}  // namespace flowback::values
