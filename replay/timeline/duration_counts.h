// SPDX-License-Identifier: MIT
// How often calls took how long, in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

// A bucket for each value below 64, and 32 for each power of two above: what it tells is right to a
// thirty-second. Only buckets that have something take memory.
class DurationCounts {
 public:
  void Add(uint64_t duration);
  void Add(const DurationCounts& other);
  CallDurations Take() const;

 private:
  static uint16_t BucketOf(uint64_t value);
  static uint64_t LeastOf(uint16_t bucket);
  void AddTo(uint16_t bucket, uint32_t count);
  uint64_t Quantile(uint64_t rank) const;

  std::vector<std::pair<uint16_t, uint32_t>> buckets_;  // sorted
  size_t last_ = 0;                                     // where the last one was added
  uint64_t count_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

}  // namespace flowback
