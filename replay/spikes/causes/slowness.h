// SPDX-License-Identifier: MIT
// Which of many values are spikes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"

namespace flowback {

// Quantiles of values; p50 is the smallest value that at least half of them do not exceed.
struct Distribution {
  size_t count = 0;
  uint64_t min = 0;
  uint64_t p50 = 0;
  uint64_t p90 = 0;
  uint64_t p99 = 0;
  uint64_t p999 = 0;
  uint64_t max = 0;
};

// `sorted` is in ascending order.
Distribution DistributionOf(const std::vector<uint64_t>& sorted);
// Returns the smallest value that at least `share` of the values do not exceed; 0: no values.
uint64_t QuantileOf(const std::vector<uint64_t>& sorted, double share);

// What the user asked for (--over).
struct SlowLimit {
  enum class Kind : uint8_t {
    kKnee,      // where the distribution breaks
    kValue,     // more than `value`
    kQuantile,  // more than the quantile `share`
    kMultiple,  // more than `share` times the median
  };
  Kind kind = Kind::kKnee;
  uint64_t value = 0;
  double share = 0;

  // Parses "p99", "3x", or else a value: "5ms", "20us", "1000000". Errors: kUsage.
  static Result<SlowLimit> Parse(std::string_view word);
};

// Which values are slow: those above `threshold`.
struct Slowness {
  // Why none is, or what the threshold is.
  enum class Reason : uint8_t {
    kKnee,      // they lie apart from the others
    kAsked,     // the user gave the limit
    kTooFew,    // there are fewer than two values
    kAllEqual,  // or nearly
    kNoKnee,    // the largest ones are the end of a continuous distribution
  };
  Reason reason = Reason::kNoKnee;
  uint64_t threshold = 0;  // 0: none is slow
  double multiple = 0;     // of the median, which the user asked for; 0: another limit
  size_t slow = 0;
};

// A knee is a value beyond the outer fence of the distribution (three times the distance of its
// quartiles above the upper one), at least 1.5 times the median. Above the fence the cut is made
// where neighbours lie farthest apart. If no value exceeds three times the median, and no gap is a
// fifth of the value below it, the values beyond the fence are the tail of the others.
Slowness FindSlow(const std::vector<uint64_t>& sorted, const SlowLimit& limit);

}  // namespace flowback
