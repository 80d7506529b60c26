// SPDX-License-Identifier: MIT
#include "replay/timeline/duration_counts.h"

#include <algorithm>
#include <utility>

namespace flowback {

uint64_t DurationCounts::LeastOf(uint16_t bucket) {
  if (bucket >> (kBucketBits + 1) == 0) return bucket;
  const unsigned shift = (bucket >> kBucketBits) - 1U;
  return uint64_t{bucket - (shift << kBucketBits)} << shift;
}

void DurationCounts::Grow() {
  const std::vector<Slot> old = std::exchange(slots_, {});
  slots_.resize(std::max(kFirstSize, 2 * old.size()));
  for (const Slot& slot : old)
    if (slot.count != 0) SlotOf(slot.bucket) = slot;
}

void DurationCounts::Add(const DurationCounts& other) {
  for (const Slot& slot : other.slots_)
    if (slot.count != 0) AddTo(slot.bucket, slot.count);
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

std::vector<DurationCounts::Slot> DurationCounts::Sorted() const {
  std::vector<Slot> sorted;
  for (const Slot& slot : slots_)
    if (slot.count != 0) sorted.push_back(slot);
  std::ranges::sort(sorted, {}, &Slot::bucket);
  return sorted;
}

CallDurations DurationCounts::Take() const {
  if (count_ == 0) return {};
  const std::vector<Slot> sorted = Sorted();
  // The value of which `rank` are smaller.
  const auto quantile = [&](uint64_t rank) {
    uint64_t before = 0;
    for (const Slot& slot : sorted) {
      before += slot.count;
      if (before > rank) return std::clamp(LeastOf(slot.bucket), min_, max_);
    }
    return max_;
  };
  return {.count = count_,
          .min = min_,
          .median = quantile((count_ - 1) / 2),
          .p99 = quantile((count_ - 1) - (count_ - 1) / 100),
          .max = max_};
}

}  // namespace flowback
