// SPDX-License-Identifier: MIT
// How often calls took how long, in little memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

// A bucket for each value below 64, and 32 for each power of two above: results are right to a
// thirty-second. Only buckets with counts take memory: they lie in a table with open addressing
// that is at most half full.
class DurationCounts {
 public:
  void Add(uint64_t duration) {
    AddTo(BucketOf(duration), 1);
    ++count_;
    min_ = std::min(min_, duration);
    max_ = std::max(max_, duration);
  }
  void Add(const DurationCounts& other);
  CallDurations Take() const;
  // Returns the value that the given share of them does not exceed; 0 if nothing was counted.
  uint64_t Quantile(double share) const;

 private:
  struct Slot {
    uint32_t count = 0;  // 0: free
    uint16_t bucket = 0;
  };
  static constexpr unsigned kBucketBits = 5;  // 32 for each power of two
  static constexpr size_t kFirstSize = 4;

  static uint16_t BucketOf(uint64_t value) {
    if (value >> (kBucketBits + 1) == 0) return static_cast<uint16_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBucketBits - 1;
    return static_cast<uint16_t>((shift << kBucketBits) + (value >> shift));
  }
  static uint64_t LeastOf(uint16_t bucket);
  void AddTo(uint16_t bucket, uint32_t count) {
    if (2 * used_ >= slots_.size()) Grow();
    Slot& slot = SlotOf(bucket);
    used_ += slot.count == 0 ? 1 : 0;
    slot.bucket = bucket;
    slot.count += count;
  }
  // Durations of one call path are much the same: so neighbours in value lie in neighbouring slots.
  Slot& SlotOf(uint16_t bucket) {
    const size_t mask = slots_.size() - 1;
    size_t at = bucket & mask;
    while (slots_[at].count != 0 && slots_[at].bucket != bucket) at = (at + 1) & mask;
    return slots_[at];
  }
  void Grow();
  std::vector<Slot> Sorted() const;
  uint64_t ValueAt(const std::vector<Slot>& sorted, uint64_t rank) const;

  std::vector<Slot> slots_;  // a power of two of them, or none
  size_t used_ = 0;
  uint64_t count_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

}  // namespace flowback
