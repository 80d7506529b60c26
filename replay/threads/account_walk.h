// SPDX-License-Identifier: MIT
// Goes along the class spans of one thread's account, forward only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/time_account.h"
#include "replay/threads/stream_times.h"
#include "replay/threads/time_slot.h"

namespace flowback {

class AccountWalk {
 public:
  // `account` must have spans and outlive it; null: the thread's times are not known.
  explicit AccountWalk(const TimeAccount* account)
      : account_(account), at_(TimePoint::Exact(account == nullptr ? 0 : account->begin)) {}

  bool has_times() const { return account_ != nullptr; }
  const TimePoint& at() const { return at_; }

  // Returns the moment of `tsc` within `bounds`. It is never before at() nor after the thread's
  // end. A tsc of 0 is not known: the result is at().
  TimePoint PointOf(const TimeUnit& unit, uint64_t tsc, const TscInterval& bounds) const {
    if (account_ == nullptr || tsc == 0) return at_;
    TimePoint point = unit.Point(tsc, bounds);
    point.time = std::clamp(point.time, at_.time, std::max(at_.time, account_->end));
    point.lo = std::min(point.lo, point.time);
    point.hi = std::max(point.hi, point.time);
    return point;
  }

  // Goes to `until`, which is not before at(), and calls give(kind, time) for each class of time
  // on the way.
  template <class Give>
  void To(const TimePoint& until, Give&& give) {
    if (account_ == nullptr) return;
    const std::vector<ClassSpan>& spans = account_->spans->spans;
    for (; next_ < spans.size(); ++next_) {
      const ClassSpan& span = spans[next_];
      if (span.begin >= until.time) break;
      const uint64_t begin = std::max(span.begin, at_.time);
      const uint64_t end = std::min(span.end, until.time);
      if (end > begin) give(span.kind, end - begin);
      if (span.end > until.time) break;
    }
    at_ = until;
  }

 private:
  const TimeAccount* account_;
  TimePoint at_;
  size_t next_ = 0;  // the first span that does not end before at_
};

}  // namespace flowback
