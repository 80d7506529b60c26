// SPDX-License-Identifier: MIT
// Sums of numbers from an input, which may be any.
#pragma once

#include <cstdint>

namespace flowback {

// Returns the sum, or the largest number if the sum exceeds it. That means "at least this many".
constexpr uint64_t SaturatedSum(uint64_t a, uint64_t b) { return b > ~a ? ~uint64_t{0} : a + b; }

inline void AddSaturated(uint64_t& sum, uint64_t more) { sum = SaturatedSum(sum, more); }

}  // namespace flowback
