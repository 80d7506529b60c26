// SPDX-License-Identifier: MIT
// TimeEstimator, the part that hands pieces on: their bounds, and their place on the line of times.
#include <algorithm>
#include <utility>

#include "decode/pt/time/time_estimator.h"
#include "flowback/decode/schedule.h"

namespace flowback::pt {

// A thread that was on other CPUs meanwhile: their streams contain when it left and came back.
void TimeEstimator::Limit(const ThreadStay& stay, TscInterval& bounds) {
  bounds.lo = std::max(bounds.lo, stay.begin_tsc);
  if (stay.end_tsc != ~uint64_t{0} && (bounds.hi == 0 || bounds.hi > stay.end_tsc))
    bounds.hi = stay.end_tsc;
}

void TimeEstimator::DeliverFirst() {
  Piece& piece = pieces_.front();
  if (piece.kind != Piece::Kind::kBlocks) HandOn();
  waiting_ -= piece.blocks;
  switch (piece.kind) {
    case Piece::Kind::kBlock:
      DeliverBlock(piece, blocks_.front());
      blocks_.pop_front();
      break;
    case Piece::Kind::kBlocks:
      DeliverBlocks(piece);
      break;
    default:
      DeliverOther(piece);
  }
  pieces_.pop_front();
  if (batch_.count == 0) done_ = done_ || consumer_->Done();
}

// Events and losses.
void TimeEstimator::DeliverOther(const Piece& piece) {
  if (piece.kind == Piece::Kind::kUntold) {
    BoundsOf(piece, nullptr);  // what comes later is not before it
    --untold_;
    last_cycles_.since = CycleMark::Since::kUnknown;
  } else if (piece.kind == Piece::Kind::kLossBegin) {
    loss_begin_bounds_ = BoundsOf(piece, nullptr);
    loss_begin_ = TimeAt(piece, piece.count, loss_begin_bounds_);
  } else if (piece.kind == Piece::Kind::kLoss) {
    DataLoss& loss = losses_.front();
    if (loss.stay != nullptr) Limit(*loss.stay, loss_begin_bounds_);
    loss.tsc = loss_begin_;
    if (loss_begin_bounds_.hi != 0) loss.tsc = std::min(loss.tsc, loss_begin_bounds_.hi);
    loss.bounds = loss_begin_bounds_;
    loss.end_bounds = BoundsOf(piece, nullptr);
    loss.end_tsc = TimeAt(piece, piece.count, loss.end_bounds);
    last_cycles_.since = CycleMark::Since::kUnknown;
    if (!done_) consumer_->OnLoss(loss);
    losses_.pop_front();
  } else {
    TraceEvent& event = events_.front();
    event.bounds = BoundsOf(piece, event.stay);
    event.tsc = TimeAt(piece, piece.count, event.bounds);
    event.cycles = CyclesOf(piece, event);
    if (!done_) consumer_->OnEvent(event);
    events_.pop_front();
  }
}

void TimeEstimator::DeliverBlock(Piece& piece, BlockRun& run) {
  run.bounds = BoundsOf(piece, run.stay);
  run.first_tsc = TimeAt(piece, piece.count + 1, run.bounds);
  if (piece.last_lo != 0) {
    piece.lo = piece.last_lo;
    run.last_lo = BoundsOf(piece, run.stay).lo;
    run.cycles = CyclesAt(piece.last_lo, piece.count + run.lengths.size(), run.stay);
  }
  run.tsc = TimeAt(piece, piece.count + run.lengths.size(), run.BoundsOf(run.lengths.size() - 1));
  if (!done_) consumer_->OnBlock(run);
}

void TimeEstimator::DeliverBlocks(Piece& piece) {
  constexpr size_t kLong = 1000;  // steps
  if (stretch_left_ == 0) BeginStretch(piece);
  AddTimes(piece);
  stretch_left_ -= piece.blocks;
  if (piece.last_lo != 0 && stretch_left_ != 0) DeliverExact();
  if (stretch_left_ == 0 && batch_.count >= kLong) HandOn();
}

// The piece is the first one of the next stretch.
void TimeEstimator::BeginStretch(const Piece& piece) {
  const BlockStretch& stretch = stretches_.front();
  if (batch_.count != 0 && stretch.goes_on && stretch.stay == batch_.stay) {
    batch_.Append(stretch);
  } else {
    HandOn();
    batch_ = stretch;
    batch_begin_ = piece.count;
  }
  stretch_left_ = stretch.count;
  stretches_.pop_front();
}

// The times of the piece's instructions, which are the next ones of batch_.
void TimeEstimator::AddTimes(Piece& piece) {
  const TscInterval bounds = BoundsOf(piece, batch_.stay);
  const uint64_t end = piece.count + piece.instructions;
  uint64_t last_lo = 0;
  if (piece.last_lo != 0) {
    piece.lo = piece.last_lo;
    last_lo = BoundsOf(piece, batch_.stay).lo;
  }
  uint64_t count = piece.count;
  if (bounds.lo == 0) {  // nothing was known yet; of the last one, perhaps
    count = last_lo == 0 ? end : end - 1;
    if (count != piece.count) {
      TimedPart& part = times_.emplace_back();
      part.end = count - batch_begin_;
      part.bounds = bounds;
    }
  }
  while (count != end) {
    course_.GoTo(count + 1, marks_);
    count = std::min(course_.EndOfLine(), end);
    TimedPart& part = times_.emplace_back();
    part.end = count - batch_begin_;
    part.bounds = bounds;
    SetLine(bounds, batch_begin_, part.line);
    if (count == end) part.last_lo = last_lo;
    tsc_floor_ = part.line.NotBefore(part.last_lo, part.end);
  }
  if (piece.last_lo != 0) times_.back().cycles = CyclesAt(piece.last_lo, end, batch_.stay);
}

// The pieces behind the first one, which is being delivered, as long as each of them goes from one
// CYC to the next: does for each what DeliverFirst does, but knows more. Such a piece lies in one
// leg of the course, and the bound that ended the piece before begins it.
void TimeEstimator::DeliverExact() {
  if (pieces_.size() < 2 || lo_floor_ == 0) return;
  const Piece* const first = pieces_.begin() + 1;
  const Piece* const behind_all = pieces_.end();
  const auto mark_of = [this](const Piece& of) -> const TimeMarks::Mark* {
    if (of.last_lo == 0 || of.hi != of.last_lo || of.hi > marks_.resolved()) return nullptr;
    const TimeMarks::Mark& mark = marks_.At(of.hi);
    return mark.hi == 0 ? nullptr : &mark;
  };
  const TimeMarks::Mark* mark = mark_of(*first);
  if (mark == nullptr ||
      !course_.GoOn(first->lo, first->count, first->hi, first->count + first->instructions, marks_))
    return;
  TimeCourse::Legs legs(course_);
  if (legs.end_tsc() < legs.begin_tsc()) return;
  const uint64_t stay_end = batch_.stay == nullptr ? ~uint64_t{0} : batch_.stay->end_tsc;
  const uint64_t batch_begin = batch_begin_;
  const size_t most = stretch_left_;
  size_t blocks = 0;
  uint64_t tsc_floor = tsc_floor_;
  uint64_t lo_floor = std::max(marks_.At(first->lo).lo, lo_floor_);
  uint64_t all_cycles = last_cycles_.all;
  const Piece* piece = first;
  do {
    const uint64_t end = piece->count + piece->instructions;
    const uint64_t hi = std::max(std::min(mark->hi, stay_end), lo_floor);
    const uint64_t earliest = std::max(lo_floor, tsc_floor);
    const uint64_t latest = std::max(hi, tsc_floor);
    // Its parts are put where they stay: a copy of the whole would wait for the stores of them.
    TimedPart& part = times_.Append();
    part.end = end - batch_begin;
    part.bounds.lo = lo_floor;
    part.bounds.hi = hi;
    lo_floor = std::max(mark->lo, lo_floor);
    tsc_floor = std::min(std::max({legs.TimeAtEnd(), earliest, lo_floor}), latest);
    part.last_lo = lo_floor;
    part.line.begin = legs.begin_tsc();
    part.line.end = legs.end_tsc();
    part.line.ahead = batch_begin - legs.begin();
    part.line.pace = legs.pace();
    part.line.pauses = 0;
    part.line.earliest = earliest;
    part.line.latest = latest;
    part.cycles = CycleMark::Of(CycleMark::Since::kFlow, mark->all_cycles - all_cycles);
    all_cycles = mark->all_cycles;
    blocks += piece->blocks;
    ++piece;
  } while (
      blocks != most && piece != behind_all && (mark = mark_of(*piece)) != nullptr &&
      legs.Next(piece->lo, piece->count, piece->hi, piece->count + piece->instructions, mark->tsc));
  legs.End();
  last_cycles_.all = all_cycles;
  last_cycles_.count = piece[-1].count + piece[-1].instructions;
  lo_floor_ = lo_floor;
  tsc_floor_ = tsc_floor;
  waiting_ -= blocks;
  stretch_left_ -= blocks;
  pieces_.pop_front(static_cast<size_t>(piece - first));
}

// Hands on the collected batch_.
void TimeEstimator::HandOn() {
  if (batch_.count == 0) return;
  if (!done_) {
    BlockBatch batch = batch_.Batch(steps_);
    batch.counts = steps_.Counts(batch_.begin, batch_.count);
    batch.times = {times_.begin(), times_.size()};
    consumer_->OnBlocks(batch);
    done_ = consumer_->Done();
  }
  steps_.Release(batch_.begin + batch_.count);
  times_.clear();
  batch_.count = 0;
}

// At a CYC that times what ends behind `count` instructions.
CycleMark TimeEstimator::CyclesAt(Number mark, uint64_t count, const ThreadStay* stay) {
  LastCycles& last = last_cycles_;
  if (stay != last.stay) last.since = CycleMark::Since::kUnknown;
  const uint64_t all = marks_.At(mark).all_cycles;
  const bool counts = last.since != CycleMark::Since::kUnknown;
  const CycleMark told = CycleMark::Of(last.since, counts ? all - last.all : 0);
  last = {.since = CycleMark::Since::kFlow, .all = all, .count = count, .stay = stay};
  return told;
}

// Only where tracing starts or stops it is certain which instructions lie ahead of it.
CycleMark TimeEstimator::CyclesOf(const Piece& piece, const TraceEvent& event) {
  using Since = CycleMark::Since;
  CycleMark told;
  LastCycles& last = last_cycles_;
  if (event.kind == EventKind::kOverflow) last.since = Since::kUnknown;
  const bool stops = Stops(event.kind);
  if (!stops && !piece.starts) return told;
  const bool counts = last.since != Since::kUnknown;
  if (piece.last_lo != 0)
    told = CyclesAt(piece.last_lo, piece.count, event.stay);
  else if (counts && (last.since == Since::kPause || last.count != piece.count))
    last.since = Since::kBoth;
  if (stops && last.since == Since::kFlow) last.since = Since::kPause;
  return told;
}

// The most likely time when `count` instructions had executed.
uint64_t TimeEstimator::TimeAt(const Piece& piece, uint64_t count, const TscInterval& bounds) {
  if (bounds.lo == 0) return 0;  // nothing was known yet
  if (piece.starts)
    course_.GoToStart(count, piece.hi, marks_);
  else
    course_.GoTo(count, marks_);
  TimeLine line;
  SetLine(bounds, 0, line);
  return tsc_floor_ = line.At(count);
}

}  // namespace flowback::pt
