// SPDX-License-Identifier: MIT
#include "replay/flow/absence_notifier.h"

namespace flowback {
namespace {

bool Stops(EventKind kind) {
  return kind == EventKind::kStopped || kind == EventKind::kStoppedAsync ||
         kind == EventKind::kTraceStop;
}

}  // namespace

// Stays have perf's times where there is a conversion, else the trace's own, if any.
uint64_t AbsenceNotifier::BeginOf(const ThreadStay& stay) const {
  if (stay.begin_bound == Bound::kOpen) return 0;
  return clock_->has_nanoseconds() ? stay.begin : stay.begin_tsc;
}

uint64_t AbsenceNotifier::EndOf(const ThreadStay& stay) const {
  const uint64_t end = clock_->has_nanoseconds() ? stay.end : stay.end_tsc;
  return stay.end_bound == Bound::kOpen || end == ~uint64_t{0} ? 0 : end;
}

void AbsenceNotifier::Tell(Absence::Kind kind, uint64_t begin, uint64_t end) {
  if (begin != 0 && begin < end) consumer_.OnAbsence({.kind = kind, .begin = begin, .end = end});
}

void AbsenceNotifier::BeginStay(const FlowPiece& piece) {
  left_ = 0;
  if (clock_ != nullptr && piece.stay != nullptr) {
    // Until it has left the kernel for the first time it has no flow.
    left_ = BeginOf(*piece.stay);
    if (last_ != nullptr && piece.stay->tid >= 0)
      Tell(Absence::Kind::kOffCpu, EndOf(*last_), left_);
  }
  consumer_.OnStayBegin(piece);
}

void AbsenceNotifier::EndStay(const FlowPiece& piece) {
  last_ = piece.stay;
  if (clock_ != nullptr && piece.stay != nullptr)
    Tell(Absence::Kind::kUntraced, left_, EndOf(*piece.stay));
  consumer_.OnStayEnd(piece);
}

void AbsenceNotifier::OnEvent(const TraceEvent& event) {
  if (clock_ != nullptr && event.tsc != 0) {
    if (event.kind == EventKind::kStarted) {
      Tell(Absence::Kind::kUntraced, left_, clock_->Value(event.tsc));
      left_ = 0;
    } else if (Stops(event.kind)) {
      left_ = clock_->Value(event.tsc);
    }
  }
  consumer_.OnEvent(event);
}

void AbsenceNotifier::OnLoss(const DataLoss& loss) {
  left_ = 0;  // what it did meanwhile is not known
  consumer_.OnLoss(loss);
}

}  // namespace flowback
