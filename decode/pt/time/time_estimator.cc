// SPDX-License-Identifier: MIT
#include "decode/pt/time/time_estimator.h"

#include <algorithm>
#include <utility>

namespace flowback::pt {
namespace {

// Whether the event's packet is one of the flow, which a CYC packet before it times.
bool IsOfFlow(EventKind kind) {
  switch (kind) {
    case EventKind::kCoreBusRatio:
    case EventKind::kMaintenance:
    case EventKind::kLockAddress:
    case EventKind::kPaging:
    case EventKind::kVmcs:
    case EventKind::kExecMode:
    case EventKind::kInterruptFlag:
      return false;
    default:
      return true;
  }
}

bool Starts(EventKind kind) { return kind == EventKind::kStarted || kind == EventKind::kOverflow; }

}  // namespace

// Without CYC packets a TNT packet in the making goes on collecting behind an MTC: the mark's place
// among the instructions is known only roughly, when that packet has come.
void TimeEstimator::OnMark(const TimeMark& mark, bool tracing) {
  const bool exact = std::exchange(exact_, mark.kind == TimeMark::Kind::kCyc);
  const bool tells_itself = !exact_;
  if (exact) PlaceHere();  // it timed a packet that is not of the flow
  if (!tracing && tracing_) Break();
  tracing_ = tracing;
  has_cyc_ |= exact_;
  if (exact_) PlaceWaiting();
  if (mark.kind == TimeMark::Kind::kTsc) marks_.Correct(mark);
  // If several marks follow each other without flow in between, only the ends matter.
  const Number last = marks_.last();
  const bool first = unplaced_.empty();
  if (!first && unplaced_.back() == last && unplaced_count_ == count_ && settled_ != last &&
      unplaced_.size() > 1 && tells_itself && (pieces_.empty() || pieces_.back().hi < last)) {
    marks_.Replace(mark);
  } else {
    marks_.Add(mark);
    if (tells_itself && tracing && !has_cyc_) {
      if (first) unplaced_count_ = count_;
      unplaced_.push_back(marks_.last());
    }
  }
  if (tells_itself && !mark.in_doubt) marks_.Resolve(rates_);
  if (exact_ || !unplaced_.empty()) return;
  PlaceHere();
  Flush();
}

// The last mark came after the instructions given so far; while tracing is on, others that no
// packet has proven yet may have executed, too. It is no point where a better one stands.
void TimeEstimator::PlaceHere() {
  const bool stands =
      course_.HasPoints() && course_.LastPoint().mark != 0 && course_.LastPoint().count == count_;
  if (tracing_ && stands)
    placed_ = marks_.last();
  else
    Place(marks_.last(), count_);
}

// Evenly between the packets on their two sides; a TSC packet of PSB+ stands where its FUP says.
void TimeEstimator::PlaceWaiting() {
  const uint64_t range = count_ - unplaced_count_;
  const uint64_t parts = unplaced_.size() + 1;
  uint64_t part = 0;
  for (const Number number : unplaced_) {
    ++part;
    const bool at_end = marks_.At(number).kind == TimeMark::Kind::kTsc;
    const uint64_t last = course_.HasPoints() ? course_.LastPoint().count : 0;
    Place(number, at_end ? count_ : std::max(last, unplaced_count_ + range * part / parts));
  }
  unplaced_.clear();
}

void TimeEstimator::Break() {
  PlaceWaiting();
  course_.AddBreak(count_);
}

// What a CYC packet times is not held back.
void TimeEstimator::SettleLate() {
  if (exact_) return Settle();
  if (written_ != marks_.last()) settled_ = std::exchange(written_, marks_.last());
  if (unplaced_.empty()) return;
  PlaceWaiting();
  Flush();
}

void TimeEstimator::Settle() {
  if (exact_) TakeExact();
  settled_ = written_ = marks_.last();
  if (unplaced_.empty()) return;
  PlaceWaiting();
  Flush();
}

void TimeEstimator::OnBlock(const BlockRun& run) {
  Piece& piece = Add(Piece::Kind::kBlock);
  ++waiting_;
  blocks_.push_back(run);
  count_ += run.lengths.size();
  if (exact_ && TakesPacket(run.last, run.exit)) {
    TakeExact();
    piece.last_lo = settled_;
  }
  FlushIfMany();
}

void TimeEstimator::OnStretch(const BlockStretch& stretch) {
  stretches_.push_back(stretch);
  FlushIfMany();
}

void TimeEstimator::OnEvent(const TraceEvent& event) {
  Piece& piece = Add(Piece::Kind::kEvent);
  ++waiting_;
  events_.push_back(event);
  piece.starts = Starts(event.kind);
  // One packet, which the marks ahead of it precede.
  if (piece.starts || event.kind == EventKind::kStopped) {
    piece.lo = settled_ = BeforePacket();
    written_ = marks_.last();
  }
  if (piece.starts) tracing_ = true;
  if (exact_ && IsOfFlow(event.kind)) {
    // Flow that has not come yet may be older, so nothing is settled.
    piece.lo = piece.last_lo = marks_.last();
    exact_ = false;
    Place(marks_.last(), count_, piece.starts);
  } else if (piece.starts && placed_ == marks_.last() && placed_ != 0 &&
             (has_cyc_ || (event.kind == EventKind::kStarted &&
                           marks_.At(placed_).kind == TimeMark::Kind::kTsc))) {
    course_.Add({count_, placed_, true});  // no CYC: hardly a cycle later
  }
  if (Stops(event.kind) && tracing_) {
    tracing_ = false;
    Break();
  }
  FlushIfMany();
}

// Somewhere after the last packet about the flow.
void TimeEstimator::OnLossBegin() {
  Add(Piece::Kind::kLossBegin);
  ++waiting_;
  FlushIfMany();
}

// The packet in work ends it.
void TimeEstimator::OnLoss(const DataLoss& loss) {
  Piece& piece = Add(Piece::Kind::kLoss);
  ++waiting_;
  losses_.push_back(loss);
  piece.lo = BeforePacket();
  piece.starts = true;
  Break();
  FlushIfMany();
}

void TimeEstimator::Flush() {
  const Number known = std::min(marks_.resolved(), placed_);
  course_.Restart();
  while (!pieces_.empty() && pieces_.front().hi <= known) DeliverFirst();
  Forget();
}

void TimeEstimator::FlushAll(double pace) {
  if (std::exchange(exact_, false)) PlaceHere();
  PlaceWaiting();
  marks_.ResolveDeferredMarks(rates_);
  marks_.ResolveOpen();
  course_.Restart();
  course_.SetTailPace(pace);
  while (!pieces_.empty()) DeliverFirst();
  Forget();
}

void TimeEstimator::Finish() {
  FlushAll(course_.usual_pace());
  HandOn();
}

// Marks and points that nothing will ask for any more.
void TimeEstimator::Forget() {
  // What comes now begins at the last placed mark; a long break leaves many behind.
  if (pieces_.empty()) course_.SkipToEnd(marks_);
  Number keep = course_.FirstMarkOr(marks_.last());
  if (settled_ != 0) keep = std::min(keep, settled_);
  if (!pieces_.empty()) keep = std::min(keep, marks_.OldestOr(pieces_.front().lo));
  if (!unplaced_.empty()) keep = std::min(keep, unplaced_.front());
  marks_.Forget(keep);
}

}  // namespace flowback::pt
