// SPDX-License-Identifier: MIT
// The step that hash tables share.
#pragma once

#include <cstdint>

namespace flowback {

// Spreads the bits of a key over the upper bits of the result (Fibonacci hashing: 2^64 divided by
// the golden ratio). Take the upper bits, or fold them into the lower ones.
constexpr uint64_t MixBits(uint64_t key) { return key * 0x9e3779b97f4a7c15; }

}  // namespace flowback
