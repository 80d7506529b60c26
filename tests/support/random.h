// SPDX-License-Identifier: MIT
// Pseudo-random numbers that are the same on every platform and library: SplitMix64.
#pragma once

#include <cstdint>

namespace flowback::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, bound); bound is not 0 and small, so the bias of the scaling does not matter.
  uint64_t Below(uint64_t bound) { return ((Next() >> 32) * bound) >> 32; }
  // In [low, high].
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  // True in `per_mille` of 1000 cases.
  bool Chance(uint32_t per_mille) { return Below(1000) < per_mille; }
  template <class T, unsigned long N>
  const T& Pick(const T (&of)[N]) {
    return of[Below(N)];
  }

 private:
  uint64_t state_;
};

}  // namespace flowback::testing
