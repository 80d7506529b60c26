// SPDX-License-Identifier: MIT
#include "replay/threads/time_slot.h"

#include <algorithm>

#include "replay/threads/class_spans.h"

namespace flowback {

void TimeSlot::Limit(uint64_t begin, uint64_t end) {
  begin_ = std::max(begin_, begin);
  end_ = std::max(begin_, std::min(end_, end));
}

void TimeSlot::Cover(const TimePoint& until, TimePhase phase) {
  if (account_ == nullptr) return;
  if (!begun_) run_ = covered_ = TimePoint::Exact(begin_);
  told_ |= phase.kind == TimeClass::kExecuting;
  if (!told_) phase = TimePhase::Of(LossCause::kThreadUnknown);
  if (begun_ && phase != phase_) Flush();
  begun_ = true;
  phase_ = phase;
  covered_.time = std::clamp(until.time, covered_.time, end_);
  covered_.lo = std::min(std::clamp(until.lo, begin_, end_), covered_.time);
  covered_.hi = std::max(std::clamp(until.hi, begin_, end_), covered_.time);
}

void TimeSlot::Flush() {
  TimeShare& share = account_->Of(phase_.kind);
  const uint64_t time = covered_.time - run_.time;
  share.time += time;
  share.lo += covered_.lo - std::min(covered_.lo, run_.hi);
  share.hi += covered_.hi - std::min(covered_.hi, run_.lo);
  const bool has_cause = phase_.kind == TimeClass::kLost || phase_.kind == TimeClass::kUndecodable;
  if (has_cause && time != 0) account_->causes[phase_.cause] += time;
  if (account_->spans)
    AddSpan(*account_->spans, {.kind = phase_.kind,
                               .begin = run_.time,
                               .begin_lo = run_.lo,
                               .begin_hi = run_.hi,
                               .end = covered_.time,
                               .end_lo = covered_.lo,
                               .end_hi = covered_.hi});
  run_ = covered_;
}

void TimeSlot::Close() {
  if (account_ != nullptr && begun_) Flush();
}

}  // namespace flowback
