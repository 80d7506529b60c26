// SPDX-License-Identifier: MIT
// TimeEstimator, the part that hands pieces on: their bounds, and their place on the line of times.
#include <algorithm>
#include <utility>

#include "decode/pt/time_estimator.h"
#include "flowback/decode/schedule.h"

namespace flowback::pt {

// A thread that was on other CPUs meanwhile: when it left and came back their streams tell.
void TimeEstimator::Limit(const ThreadStay* stay, TscInterval& bounds) {
  if (stay == nullptr) return;
  bounds.lo = std::max(bounds.lo, stay->begin_tsc);
  if (stay->end_tsc != ~uint64_t{0} && (bounds.hi == 0 || bounds.hi > stay->end_tsc))
    bounds.hi = stay->end_tsc;
}

TscInterval TimeEstimator::BoundsOf(const Piece& piece, const ThreadStay* stay) {
  TscInterval bounds;
  if (piece.lo != 0) bounds.lo = At(piece.lo).bounds.lo;
  if (piece.hi != 0 && piece.hi <= resolved_) bounds.hi = At(piece.hi).bounds.hi;
  Limit(stay, bounds);
  bounds.lo = lo_floor_ = std::max(bounds.lo, lo_floor_);
  if (bounds.hi != 0) bounds.hi = std::max(bounds.hi, bounds.lo);
  return bounds;
}

void TimeEstimator::DeliverFirst() {
  Piece& piece = pieces_.front();
  if (piece.kind != Piece::Kind::kBlocks) HandOn();
  switch (piece.kind) {
    case Piece::Kind::kBlock:
      --waiting_;
      DeliverBlock(piece, blocks_.front());
      blocks_.pop_front();
      break;
    case Piece::Kind::kBlocks:
      waiting_ -= stretches_.front().count;
      DeliverBlocks(piece, stretches_.front());
      stretches_.pop_front();
      break;
    default:
      --waiting_;
      DeliverOther(piece);
  }
  pieces_.pop_front();
  if (batch_.count == 0) done_ = done_ || consumer_->Done();
}

// Events and losses.
void TimeEstimator::DeliverOther(const Piece& piece) {
  if (piece.kind == Piece::Kind::kLossBegin) {
    loss_begin_bounds_ = BoundsOf(piece, nullptr);
    loss_begin_ = TimeAt(piece, piece.count, loss_begin_bounds_);
  } else if (piece.kind == Piece::Kind::kLoss) {
    DataLoss& loss = losses_.front();
    Limit(loss.stay, loss_begin_bounds_);
    loss.tsc = loss_begin_;
    if (loss_begin_bounds_.hi != 0) loss.tsc = std::min(loss.tsc, loss_begin_bounds_.hi);
    loss.bounds = loss_begin_bounds_;
    loss.end_bounds = BoundsOf(piece, nullptr);
    loss.end_tsc = TimeAt(piece, piece.count, loss.end_bounds);
    if (!done_) consumer_->OnLoss(loss);
    losses_.pop_front();
  } else {
    TraceEvent& event = events_.front();
    event.bounds = BoundsOf(piece, event.stay);
    event.tsc = TimeAt(piece, piece.count, event.bounds);
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
  }
  run.tsc = TimeAt(piece, piece.count + run.lengths.size(), run.BoundsOf(run.lengths.size() - 1));
  if (!done_) consumer_->OnBlock(run);
}

void TimeEstimator::DeliverBlocks(Piece& piece, const BlockStretch& stretch) {
  constexpr size_t kLong = 1000;  // steps
  if (batch_.count != 0 && stretch.goes_on && stretch.stay == batch_.stay) {
    batch_.Append(stretch);
  } else {
    HandOn();
    batch_ = stretch;
  }
  AddTimes(piece, stretch.instructions());
  if (batch_.count >= kLong) HandOn();
}

// The times of the last instructions of batch_.
void TimeEstimator::AddTimes(Piece& piece, uint64_t instructions) {
  const uint64_t before = batch_.instructions() - instructions;
  const TscInterval bounds = BoundsOf(piece, batch_.stay);
  const uint64_t begin = piece.count - before;  // of the batch
  const uint64_t end = piece.count + instructions;
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
      part.end = count - begin;
      part.bounds = bounds;
    }
  }
  while (count != end) {
    FindSegment(piece, count + 1);
    count = std::min(EndOfLine(), end);
    TimedPart& part = times_.emplace_back();
    part.end = count - begin;
    part.bounds = bounds;
    SetLine(bounds, begin - segment_.begin, part.line);
    if (count == end) part.last_lo = last_lo;
    tsc_floor_ = part.line.NotBefore(part.last_lo, count - begin);
  }
}

// What has come together in batch_.
void TimeEstimator::HandOn() {
  if (batch_.count == 0) return;
  if (!done_) {
    BlockBatch batch = batch_.Batch(steps_);
    batch.times = times_;
    consumer_->OnBlocks(batch);
    done_ = consumer_->Done();
  }
  steps_.Release(batch_.begin + batch_.count);
  times_.clear();
  batch_.count = 0;
}

// The most likely time when `count` instructions had executed.
uint64_t TimeEstimator::TimeAt(const Piece& piece, uint64_t count, const TscInterval& bounds) {
  if (bounds.lo == 0) return 0;  // nothing was known yet
  FindSegment(piece, count);
  TimeLine line;
  SetLine(bounds, -segment_.begin, line);
  return tsc_floor_ = line.At(count);
}

// Goes on to the segment in which `count` instructions had executed.
void TimeEstimator::FindSegment(const Piece& piece, uint64_t count) {
  if (!segment_.valid) Measure();
  while (segment_.end_mark != 0 &&
         (segment_.end < count ||
          (piece.starts && segment_.end == count && segment_.end_mark < piece.hi)))
    NextSegment();
  const uint64_t behind = piece.starts ? count + 1 : count;
  size_t& passed = segment_.passed;
  while (passed < segment_.points && points_[passed].count < behind) ++passed;
}

// The line of times there. (Not returned: copies wait for the stores of their parts.)
void TimeEstimator::SetLine(const TscInterval& bounds, uint64_t ahead, TimeLine& line) const {
  line.ahead = ahead;
  if (!points_.empty() && points_.front().mark != 0) {
    line.begin = At(points_.front().mark).tsc;
    line.pace = segment_.pace;
    line.pauses = static_cast<double>(segment_.passed - 1) * segment_.pause;
    if (segment_.end_mark != 0) line.end = At(segment_.end_mark).tsc;
  }
  line.earliest = std::max(bounds.lo, tsc_floor_);
  if (bounds.hi != 0) line.latest = std::max(bounds.hi, tsc_floor_);
}

// So many instructions had executed at the end of that line.
uint64_t TimeEstimator::EndOfLine() const {
  uint64_t end = segment_.end_mark != 0 ? segment_.end : ~uint64_t{0};
  if (segment_.passed < segment_.points) end = std::min(end, points_[segment_.passed].count);
  return end;
}

// The segment that begins with the first mark among the points.
void TimeEstimator::Measure() {
  while (!points_.empty() && points_.front().mark == 0) points_.pop_front();
  segment_ = {};
  segment_.valid = true;
  segment_.pace = tail_pace_;
  if (points_.empty()) return;
  segment_.begin = points_.front().count + (points_.front().starts ? 1 : 0);
  size_t next = 1;
  while (next < points_.size() && points_[next].mark == 0) ++next;
  segment_.points = next;
  if (next == points_.size() || points_[next].mark > resolved_) return;
  segment_.end = points_[next].count;
  segment_.end_mark = points_[next].mark;
  const double ticks =
      static_cast<double>(At(segment_.end_mark).tsc - At(points_.front().mark).tsc);
  const double count =
      segment_.end <= segment_.begin ? 0 : static_cast<double>(segment_.end - segment_.begin);
  const size_t breaks = next - 1;
  const double run = breaks == 0 ? ticks : std::min(ticks, count * usual_pace_);
  segment_.pace = count == 0 ? 0 : run / count;
  segment_.pause = breaks == 0 ? 0 : (ticks - run) / static_cast<double>(breaks);
}

void TimeEstimator::NextSegment() {
  constexpr double kMemory = 2000;  // instructions over which the pace is averaged
  const double count = static_cast<double>(segment_.end - std::min(segment_.end, segment_.begin));
  if (segment_.points == 1 && count > 0)
    usual_pace_ += (segment_.pace - usual_pace_) * (count / (count + kMemory));
  points_.pop_front(segment_.points);
  Measure();
}

}  // namespace flowback::pt
