// SPDX-License-Identifier: MIT
// The flow digest: one number that two decoders share exactly when they saw the same flow.
#pragma once

#include <cstdint>

namespace flowback {

// H <- H*K + ip (mod 2^64) over the address of every executed instruction, in program order, from
// 0. It composes: H(ab) = H(a) * K^|b| + H(b), so that blocks and memoised runs can carry theirs.
struct FlowDigest {
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

  uint64_t count = 0;
  uint64_t hash = 0;

  void Append(uint64_t ip) {
    hash = hash * kFactor + ip;
    ++count;
  }
  void Append(const FlowDigest& next) {
    hash = hash * Power(next.count) + next.hash;
    count += next.count;
  }
  // K^exponent, by squaring.
  static constexpr uint64_t Power(uint64_t exponent) {
    uint64_t result = 1;
    for (uint64_t base = kFactor; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return result;
  }
  bool operator==(const FlowDigest&) const = default;
};

}  // namespace flowback
