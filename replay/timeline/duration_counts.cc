// SPDX-License-Identifier: MIT
#include "replay/timeline/duration_counts.h"

#include <algorithm>
#include <bit>

namespace flowback {
namespace {

constexpr unsigned kBucketBits = 5;  // 32 for each power of two

}  // namespace

uint16_t DurationCounts::BucketOf(uint64_t value) {
  if (value >> (kBucketBits + 1) == 0) return static_cast<uint16_t>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBucketBits - 1;
  return static_cast<uint16_t>((shift << kBucketBits) + (value >> shift));
}

uint64_t DurationCounts::LeastOf(uint16_t bucket) {
  if (bucket >> (kBucketBits + 1) == 0) return bucket;
  const unsigned shift = (bucket >> kBucketBits) - 1U;
  return uint64_t{bucket - (shift << kBucketBits)} << shift;
}

void DurationCounts::AddTo(uint16_t bucket, uint32_t count) {
  // Calls of one path take much the same time.
  for (size_t i = last_; i < std::min(last_ + 2, buckets_.size()); ++i)
    if (buckets_[i].first == bucket) {
      last_ = i;
      buckets_[i].second += count;
      return;
    }
  const auto at =
      std::ranges::lower_bound(buckets_, bucket, {}, &std::pair<uint16_t, uint32_t>::first);
  last_ = static_cast<size_t>(at - buckets_.begin());
  if (at != buckets_.end() && at->first == bucket)
    at->second += count;
  else
    buckets_.insert(at, {bucket, count});
}

void DurationCounts::Add(uint64_t duration) {
  AddTo(BucketOf(duration), 1);
  ++count_;
  min_ = std::min(min_, duration);
  max_ = std::max(max_, duration);
}

void DurationCounts::Add(const DurationCounts& other) {
  for (const auto& [bucket, count] : other.buckets_) AddTo(bucket, count);
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

// The value of which `rank` are smaller.
uint64_t DurationCounts::Quantile(uint64_t rank) const {
  uint64_t before = 0;
  for (const auto& [bucket, count] : buckets_) {
    before += count;
    if (before > rank) return std::clamp(LeastOf(bucket), min_, max_);
  }
  return max_;
}

CallDurations DurationCounts::Take() const {
  if (count_ == 0) return {};
  return {.count = count_,
          .min = min_,
          .median = Quantile((count_ - 1) / 2),
          .p99 = Quantile((count_ - 1) - (count_ - 1) / 100),
          .max = max_};
}

}  // namespace flowback
