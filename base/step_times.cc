// SPDX-License-Identifier: MIT
#include "base/step_times.h"

#include <algorithm>

#include "base/step_lanes.h"

namespace flowback {

StepTimes::StepTimes(const BlockBatch& batch)
    : batch_(batch), lanes_(StepLanes::Best()), part_(batch.times.data()) {
  static_assert(kRoom == StepLanes::kTogether + 16);
}

size_t StepTimes::Next() {
  const size_t size = std::min(batch_.steps.size() - next_, StepLanes::kTogether);
  if (size == 0) return 0;
  steps_ = batch_.steps.data() + next_;
  before_ = behind_;
  FillCounts(size);
  std::fill(counts_ + size, counts_ + StepLanes::kTogether, StepLanes::kNever);
  behind_ = before_ + counts_[size - 1];
  for (size_t at = 0; at != size;) at = FillTimes(at, size);
  next_ += size;
  return size;
}

void StepTimes::FillCounts(size_t size) {
  if (!batch_.counts.empty()) return lanes_.add_counts(batch_.counts.data() + next_, size, counts_);
  uint32_t sum = 0;
  for (size_t i = 0; i < size; ++i) counts_[i] = sum += (*batch_.table)[steps_[i].number()].count;
}

// Fills in the times of steps from `begin` on whose last instruction lies in the current part.
// Returns where they end.
inline size_t StepTimes::FillTimes(size_t begin, size_t size) {
  if (part_ == batch_.times.data() + batch_.times.size()) {
    std::fill(times_ + begin, times_ + size, batch_.tsc);
    return size;
  }
  const TimedPart& part = *part_;
  const uint64_t limit = part.end - before_;
  const size_t end = counts_[size - 1] < limit ? size : lanes_.count_below(counts_, limit);
  if (part.bounds.lo == 0)
    std::fill(times_ + begin, times_ + end, 0);
  else
    lanes_.add_times(part.line, before_, counts_ + begin, end - begin, times_ + begin);
  if (end == size) return end;
  ++part_;
  // The part's last instruction may have a time of its own, or lie in mid-block.
  if (counts_[end] != limit) return end;
  times_[end] = part.LastAt(part.end);
  return end + 1;
}

}  // namespace flowback
