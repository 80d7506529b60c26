// SPDX-License-Identifier: MIT
#include "decode/pt/time_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flowback::pt {
namespace {

// Whether the event's packet is one of the flow, which a CYC packet before it times.
bool IsOfFlow(EventKind kind) {
  switch (kind) {
    case EventKind::kCoreBusRatio:
    case EventKind::kMaintenance:
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

bool Stops(EventKind kind) {
  return kind == EventKind::kStopped || kind == EventKind::kStoppedAsync;
}

bool TellsItself(const TimeMark& mark) { return mark.kind != TimeMark::Kind::kCyc; }

}  // namespace

// Without CYC packets a TNT packet in the making goes on collecting behind an MTC: the mark's place
// among the instructions is known only roughly, when that packet has come.
void TimeEstimator::OnMark(const TimeMark& mark, bool tracing) {
  const bool exact = std::exchange(exact_, mark.kind == TimeMark::Kind::kCyc);
  if (exact) PlaceHere();  // it timed a packet that is not of the flow
  if (!tracing && tracing_) Break();
  tracing_ = tracing;
  has_cyc_ |= exact_;
  if (exact_) PlaceWaiting();
  if (mark.kind == TimeMark::Kind::kTsc) Correct(mark);
  // Of several marks in a row without anything in between only the ends matter.
  const bool first = unplaced_.empty();
  if (!first && unplaced_.back() == last_ && unplaced_count_ == count_ && settled_ != last_ &&
      unplaced_.size() > 1 && TellsItself(mark) && (pieces_.empty() || pieces_.back().hi < last_)) {
    At(last_) = {mark, 0, {}};
    resolved_ = std::min(resolved_, last_ - 1);
  } else {
    marks_.push_back({mark, 0, {}});
    ++last_;
    if (!exact_ && tracing && !has_cyc_) {
      if (first) unplaced_count_ = count_;
      unplaced_.push_back(last_);
    }
  }
  if (TellsItself(mark) && !mark.in_doubt) Resolve(last_);
  if (exact_ || !unplaced_.empty()) return;
  PlaceHere();
  Flush();
}

// The last mark came after the instructions given so far; while tracing is on, others that no
// packet has told yet may have executed, too. It is no point where a better one stands.
void TimeEstimator::PlaceHere() {
  const bool stands =
      !points_.empty() && points_.back().mark != 0 && points_.back().count == count_;
  if (tracing_ && stands)
    placed_ = last_;
  else
    Place(last_, count_);
}

void TimeEstimator::Place(Number number, uint64_t count) {
  points_.push_back({count, number});
  placed_ = number;
  if (!tracing_) points_.push_back({count, 0});  // the break goes on
}

// Evenly between the packets on their two sides; a TSC packet of PSB+ stands where its FUP says.
void TimeEstimator::PlaceWaiting() {
  const uint64_t range = count_ - unplaced_count_;
  const uint64_t parts = unplaced_.size() + 1;
  uint64_t part = 0;
  for (const Number number : unplaced_) {
    ++part;
    const bool at_end = At(number).told.kind == TimeMark::Kind::kTsc;
    const uint64_t last = points_.empty() ? 0 : points_.back().count;
    Place(number, at_end ? count_ : std::max(last, unplaced_count_ + range * part / parts));
  }
  unplaced_.clear();
}

void TimeEstimator::Break() {
  PlaceWaiting();
  if (!points_.empty() && points_.back().mark == 0 && points_.back().count == count_) return;
  points_.push_back({count_, 0});
}

void TimeEstimator::TakeExact(bool starts) {
  exact_ = false;
  settled_ = last_;
  Place(last_, count_);
  points_.back().starts = starts;
}

void TimeEstimator::Settle() {
  if (exact_) TakeExact();
  settled_ = last_;
  if (unplaced_.empty()) return;
  PlaceWaiting();
  Flush();
}

EstimatorState::Piece& TimeEstimator::Add(Piece::Kind kind, size_t blocks) {
  Piece& piece = pieces_.emplace_back();
  waiting_ += blocks;
  piece.kind = kind;
  piece.count = count_;
  piece.lo = settled_;
  piece.hi = exact_ ? last_ : last_ + 1;
  return piece;
}

void TimeEstimator::OnBlock(const BlockRun& run) {
  Piece& piece = Add(Piece::Kind::kBlock);
  blocks_.push_back(run);
  count_ += run.lengths.size();
  if (exact_ && TakesPacket(run.last, run.exit)) {
    TakeExact();
    piece.last_lo = settled_;
  }
  FlushIfMany();
}

void TimeEstimator::OnBlocks(const BlockStretch& stretch, bool takes_packet) {
  Piece& piece = Add(Piece::Kind::kBlocks, stretch.count);
  stretches_.push_back(stretch);
  count_ += stretch.instructions();
  if (exact_ && takes_packet) {
    TakeExact();
    piece.last_lo = settled_;
  }
  FlushIfMany();
}

void TimeEstimator::OnEvent(const TraceEvent& event) {
  Piece& piece = Add(Piece::Kind::kEvent);
  events_.push_back(event);
  piece.starts = Starts(event.kind);
  // One packet, which the marks ahead of it precede.
  if (piece.starts || event.kind == EventKind::kStopped) piece.lo = settled_ = last_;
  if (piece.starts) tracing_ = true;
  if (exact_ && IsOfFlow(event.kind)) {
    piece.lo = last_;
    TakeExact(piece.starts);
  } else if (piece.starts && has_cyc_ && placed_ == last_) {
    points_.push_back({count_, last_, true});  // no CYC: hardly a cycle later
  }
  if (Stops(event.kind) && tracing_) {
    tracing_ = false;
    Break();
  }
  FlushIfMany();
}

// Somewhere behind the last packet that told of the flow.
void TimeEstimator::OnLossBegin() {
  Add(Piece::Kind::kLossBegin);
  FlushIfMany();
}

// The packet in work ends it, which the marks ahead of it precede.
void TimeEstimator::OnLoss(const DataLoss& loss) {
  Piece& piece = Add(Piece::Kind::kLoss);
  losses_.push_back(loss);
  piece.lo = last_;
  piece.starts = true;
  Break();
  FlushIfMany();
}

// The marks that were in doubt: where the counter may have turned over at one place only, they were
// all as late. Else each of them by some of these turns, or none.
void TimeEstimator::Correct(const TimeMark& tsc) {
  if (tsc.late == 0) return;
  for (Number number = std::max(resolved_ + 1, first_); number <= last_; ++number) {
    TimeMark& told = At(number).told;
    if (!told.in_doubt || !TellsItself(told)) continue;
    told.hi += tsc.late + 1;  // rounded to a whole tick
    if (tsc.doubts == 1) {
      told.lo += tsc.late - 1;
      told.tsc += tsc.late;
    }
  }
}

// Makes the marks up to `end`, a TSC or MTC, final.
void TimeEstimator::Resolve(Number end) {
  for (Number number = resolved_ + 1; number <= end; ++number) {
    Mark& mark = At(number);
    if (!TellsItself(mark.told)) continue;
    mark.tsc = std::clamp(mark.told.tsc, mark.told.lo, mark.told.hi);
    mark.bounds = {mark.told.lo, mark.told.hi};
    while (++resolved_ < number) Calibrate(resolved_, number);
    KeepOrder(number);
    base_ = number;
  }
}

// A CYC between two packets that tell the time themselves.
void TimeEstimator::Calibrate(Number number, Number end) {
  Mark& mark = At(number);
  const Mark& to = At(end);
  const TimeMark& told = mark.told;
  const uint64_t all = std::max(to.told.cycles, told.cycles);
  const uint64_t rest = rates_.AtLeast(all - told.cycles, to.told.ratio);
  mark.bounds = {0, to.bounds.hi - std::min(to.bounds.hi, rest)};
  mark.tsc = to.tsc - std::min(to.tsc, rates_.Likely(all - told.cycles, to.told.ratio));
  if (base_ != 0) {
    const Mark& from = At(base_);
    mark.bounds.lo = from.bounds.lo + rates_.AtLeast(told.cycles, to.told.ratio);
    const uint64_t range = to.tsc - std::min(from.tsc, to.tsc);
    const uint64_t likely = rates_.Likely(all, to.told.ratio);
    // Fewer cycles than there was time: the core stood still at some place; at none known. Without
    // a ratio, of two likely courses the plain one.
    const bool steady = all != 0 && (to.told.ratio == 0 || range <= likely + likely / 10);
    // Cycles are whole ones: half a one more is the likeliest.
    const auto scaled = static_cast<unsigned __int128>(range) * (2 * told.cycles + 1);
    mark.tsc = from.tsc + (steady ? static_cast<uint64_t>(scaled / (2 * all))
                                  : rates_.Likely(told.cycles, to.told.ratio));
    // More than there was time: the ratio does not hold. The packets around hold in any case.
    if (mark.bounds.lo > mark.bounds.hi || mark.bounds.hi < from.bounds.lo)
      mark.bounds = {from.bounds.lo, to.bounds.hi};
  }
  mark.tsc = std::clamp(mark.tsc, mark.bounds.lo, mark.bounds.hi);
  KeepOrder(number);
}

// Marks come in the order of their times, whatever they say.
void TimeEstimator::KeepOrder(Number number) {
  Mark& mark = At(number);
  if (number > first_) {
    const Mark& before = At(number - 1);
    mark.bounds.lo = std::max(mark.bounds.lo, before.bounds.lo);
    mark.tsc = std::max(mark.tsc, before.tsc);
    if (mark.bounds.hi != 0) mark.bounds.hi = std::max(mark.bounds.hi, before.bounds.hi);
  }
  if (mark.bounds.hi != 0) {
    mark.bounds.hi = std::max(mark.bounds.hi, mark.bounds.lo);
    mark.tsc = std::clamp(mark.tsc, mark.bounds.lo, mark.bounds.hi);
  }
}

// Makes all marks final although no packet has confirmed them.
void TimeEstimator::ResolveOpen() {
  while (resolved_ < last_) {
    Mark& mark = At(++resolved_);
    mark.bounds = {mark.told.lo, 0};
    mark.tsc = std::max(mark.told.tsc, mark.told.lo);
    if (TellsItself(mark.told)) base_ = resolved_;
    KeepOrder(resolved_);
  }
}

void TimeEstimator::Flush() {
  const Number known = std::min(resolved_, placed_);
  segment_.valid = false;
  while (!pieces_.empty() && pieces_.front().hi <= known) DeliverFirst();
  Forget();
}

void TimeEstimator::FlushAll(double pace) {
  if (std::exchange(exact_, false)) PlaceHere();
  PlaceWaiting();
  ResolveOpen();
  segment_.valid = false;
  tail_pace_ = pace;
  while (!pieces_.empty()) DeliverFirst();
  Forget();
}

void TimeEstimator::Finish() {
  FlushAll(usual_pace_);
  HandOn();
}

// Marks and points that nothing will ask for any more.
void TimeEstimator::Forget() {
  // What comes now begins at the last placed mark; a long break leaves many behind.
  if (pieces_.empty()) {
    segment_.valid = false;
    Measure();
    while (segment_.end_mark != 0) NextSegment();
  }
  Number keep = last_;
  const auto needs = [&keep](Number number) {
    if (number != 0) keep = std::min(keep, number);
  };
  needs(settled_);
  needs(base_);
  needs(resolved_);
  if (!pieces_.empty()) needs(pieces_.front().lo == 0 ? first_ : pieces_.front().lo);
  if (!points_.empty()) needs(points_.front().mark);
  if (!unplaced_.empty()) needs(unplaced_.front());
  while (!marks_.empty() && first_ < keep) {
    marks_.pop_front();
    ++first_;
  }
}

}  // namespace flowback::pt
