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

// Returns the value that has `rank` smaller ones.
uint64_t DurationCounts::ValueAt(const std::vector<Slot>& sorted, uint64_t rank) const {
  uint64_t before = 0;
  for (const Slot& slot : sorted) {
    before += slot.count;
    if (before > rank) return std::clamp(LeastOf(slot.bucket), min_, max_);
  }
  return max_;
}

CallDurations DurationCounts::Take() const {
  if (count_ == 0) return {};
  const std::vector<Slot> sorted = Sorted();
  return {.count = count_,
          .min = min_,
          .median = ValueAt(sorted, (count_ - 1) / 2),
          .p99 = ValueAt(sorted, (count_ - 1) - (count_ - 1) / 100),
          .max = max_};
}

uint64_t DurationCounts::Quantile(double share) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<uint64_t>(share * static_cast<double>(count_ - 1) + 0.5);
  return ValueAt(Sorted(), std::min(rank, count_ - 1));
}

}  // namespace flowback
