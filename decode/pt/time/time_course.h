// SPDX-License-Identifier: MIT
// The most likely time of each instruction: a line of instructions counted against time.
//
// Marks whose place among the instructions is known are points of it. From one mark to the next it
// is a straight leg. Where tracing was off in between, the leg has breaks: points without a mark,
// at which time passes and no instruction executes. Then the instructions get the pace they had
// last, and the breaks get the rest of the time.
//
//    time
//     |                                  o mark 3
//     |                         .-------'       pace as before
//     |                         |               break: what is left of the time
//     |                .--------'
//     |        o------' mark 2
//     |   .---'
//     o--' mark 1
//     +--------------------------------------- instructions
//
// Pieces of the flow ask for it in their order, so it only goes forward, and forgets the course
// behind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/queue.h"
#include "decode/pt/time/time_marks.h"
#include "flowback/model/block_batch.h"

namespace flowback::pt {

class TimeCourse {
 public:
  using Number = TimeMarks::Number;
  // The number of instructions executed up to a mark, or up to where tracing was off.
  struct Point {
    uint64_t count = 0;
    Number mark = 0;      // 0: a break
    bool starts = false;  // the mark is when tracing started: the next instruction's time, too
  };

  // ---- making it ----

  bool HasPoints() const { return !points_.empty(); }
  const Point& LastPoint() const { return points_.back(); }
  [[gnu::always_inline]] void Add(const Point& point) { points_.push_back(point); }
  // Tracing is off here. One break is as good as several at one place.
  void AddBreak(uint64_t count) {
    if (points_.empty() || points_.back().mark != 0 || points_.back().count != count)
      points_.push_back({count, 0, false});
  }

  // ---- asking ----

  // The current leg may have changed, because marks have become final.
  void Restart() { leg_.valid = false; }
  // Sets the pace behind the last mark, in ticks an instruction.
  void SetTailPace(double pace) { tail_pace_ = pace; }
  double usual_pace() const { return usual_pace_; }

  // Goes on to the leg in which `count` instructions had executed.
  void GoTo(uint64_t count, const TimeMarks& marks) {
    if (!leg_.valid) Measure(marks);
    while (leg_.end < count && leg_.end_mark != 0) NextLeg(marks);
    if (leg_.points > 1) PassBreaks(count);
  }
  // If the leg at hand ends at mark `from` and `begin` instructions, and the next one goes to `to`,
  // which is resolved, and `end`: goes on to that. Else does nothing.
  [[gnu::always_inline]] bool GoOn(Number from, uint64_t begin, Number to, uint64_t end,
                                   const TimeMarks& marks) {
    if (leg_.end_mark != from || leg_.end != begin || leg_.points + 1 >= points_.size())
      return false;
    const Point& next = points_[leg_.points + 1];
    if (next.mark != to || next.count != end || to > marks.resolved()) return false;
    NextLeg(marks);
    return true;
  }
  // Goes on over many such legs, one behind the other, with what changes in registers. REQUIRES:
  // GoOn has just said yes. Until End, no other call is made.
  class Legs {
   public:
    explicit Legs(TimeCourse& course)
        : course_(course), at_(course.points_.begin() + 1), end_(course.points_.end()) {
      const Leg& leg = course.leg_;
      begin_ = leg.begin;
      begin_tsc_ = leg.begin_tsc;
      end_tsc_ = leg.end_tsc;
      count_ = static_cast<double>(leg.end - std::min(leg.end, leg.begin));
      pace_ = leg.pace;
      usual_pace_ = course.usual_pace_;
    }
    // The next leg, if it goes from mark `from` and `begin` instructions to `to`, which is resolved
    // and stands for `to_tsc`, and to `end`. False: it does not, and nothing is done.
    [[gnu::always_inline]] bool Next(Number from, uint64_t begin, Number to, uint64_t end,
                                     uint64_t to_tsc) {
      if (at_ + 1 == end_ || at_[0].mark != from || at_[0].count != begin || at_[0].starts ||
          at_[1].mark != to || at_[1].count != end)
        return false;
      // Both fit into half the range: conversions of signed numbers take fewer steps.
      const auto count = static_cast<int64_t>(end - begin);
      const auto ticks = static_cast<int64_t>(to_tsc - end_tsc_);
      if (count <= 0 || ticks < 0) [[unlikely]]
        return false;
      if (count_ > 0) usual_pace_ += (pace_ - usual_pace_) * (count_ / (count_ + kMemory));
      begin_ = begin;
      begin_tsc_ = end_tsc_;
      end_tsc_ = to_tsc;
      count_ = static_cast<double>(count);
      pace_ = static_cast<double>(ticks) / count_;
      ++at_;
      return true;
    }
    uint64_t begin() const { return begin_; }
    uint64_t begin_tsc() const { return begin_tsc_; }
    uint64_t end_tsc() const { return end_tsc_; }
    double pace() const { return pace_; }
    // The line's time at the leg's end, which is a tick before that where rounding had it so.
    uint64_t TimeAtEnd() const {
      return std::min(begin_tsc_ + static_cast<uint64_t>(static_cast<int64_t>(count_ * pace_)),
                      end_tsc_);
    }
    void End() {
      auto& points = course_.points_;
      points.pop_front(static_cast<size_t>(at_ - 1 - points.begin()));
      course_.usual_pace_ = usual_pace_;
      course_.leg_ = {.valid = true,
                      .begin = begin_,
                      .end = at_[0].count,
                      .end_mark = at_[0].mark,
                      .begin_tsc = begin_tsc_,
                      .end_tsc = end_tsc_,
                      .points = 1,
                      .pace = pace_};
    }

   private:
    TimeCourse& course_;
    const Point* at_;  // where the leg at hand ends
    const Point* const end_;
    uint64_t begin_;  // of the leg at hand, like all below
    uint64_t begin_tsc_;
    uint64_t end_tsc_;
    double count_;  // instructions
    double pace_;
    double usual_pace_;
  };
  // Works as GoTo for flow after a break there, and before mark `before`.
  void GoToStart(uint64_t count, Number before, const TimeMarks& marks);
  // The line there. `ahead` as TimeLine has it, if the counts began with the flow. (Not returned:
  // copies wait for the stores of their parts.)
  void SetLine(uint64_t ahead, TimeLine& line) const {
    line.ahead = ahead - leg_.begin;
    if (points_.empty()) return;
    line.begin = leg_.begin_tsc;
    line.pace = leg_.pace;
    line.pauses = static_cast<double>(leg_.passed - 1) * leg_.pause;
    if (leg_.end_mark != 0) line.end = leg_.end_tsc;
  }
  // Returns how many instructions had executed where that line ends.
  uint64_t EndOfLine() const {
    const uint64_t end = leg_.end_mark != 0 ? leg_.end : ~uint64_t{0};
    return leg_.passed < leg_.points ? std::min(end, points_[leg_.passed].count) : end;
  }

  // Earlier instructions are not asked about any more: forgets all legs that are whole.
  void SkipToEnd(const TimeMarks& marks);
  // The first mark that is still needed; `otherwise` if none is.
  Number FirstMarkOr(Number otherwise) const {
    return points_.empty() || points_.front().mark == 0 ? otherwise : points_.front().mark;
  }
  // Gives `use` all that it consists of, for a state that is kept in bytes.
  template <class Self, class Use>
  static void Parts(Self& of, Use use) {
    auto& [points, leg, usual_pace, tail_pace] = of;
    auto& [valid, begin, end, end_mark, begin_tsc, end_tsc, leg_points, passed, pace, pause] = leg;
    use(points, usual_pace, tail_pace, valid, begin, end, end_mark, begin_tsc, end_tsc, leg_points,
        passed, pace, pause);
  }

 private:
  static constexpr double kMemory = 2000;  // instructions over which the pace is averaged

  // The line from the first of points_ to the next mark.
  struct Leg {
    bool valid = false;
    uint64_t begin = 0;  // counts; `begin` one more where the first instruction has the mark's time
    uint64_t end = 0;
    Number end_mark = 0;  // 0: no mark yet
    uint64_t begin_tsc = 0;
    uint64_t end_tsc = 0;
    size_t points = 0;  // up to the next mark
    size_t passed = 1;  // of them, by those who asked
    double pace = 0;    // ticks an instruction
    double pause = 0;   // ticks a break
  };

  void PassBreaks(uint64_t behind) {
    size_t& passed = leg_.passed;
    while (passed < leg_.points && points_[passed].count < behind) ++passed;
  }
  void Measure(const TimeMarks& marks);
  void MeasureBreaks(double ticks, double count);
  // The leg from the first of points_, a mark, to the `points`th one behind it, the next mark.
  [[gnu::always_inline]] void MeasureTo(size_t points, const TimeMarks& marks) {
    const Point& from = points_.front();
    const Point& to = points_[points];
    leg_ = {.valid = true, .begin = from.count + (from.starts ? 1 : 0), .points = points};
    leg_.begin_tsc = marks.At(from.mark).tsc;
    leg_.pace = tail_pace_;
    if (to.mark > marks.resolved()) return;
    leg_.end = to.count;
    leg_.end_mark = to.mark;
    leg_.end_tsc = marks.At(to.mark).tsc;
    const auto ticks = static_cast<double>(leg_.end_tsc - leg_.begin_tsc);
    const double count = leg_.end <= leg_.begin ? 0 : static_cast<double>(leg_.end - leg_.begin);
    if (points != 1) return MeasureBreaks(ticks, count);
    leg_.pace = count == 0 ? 0 : ticks / count;
  }
  [[gnu::always_inline]] void NextLeg(const TimeMarks& marks) {
    const auto count = static_cast<double>(leg_.end - std::min(leg_.end, leg_.begin));
    if (leg_.points == 1 && count > 0)
      usual_pace_ += (leg_.pace - usual_pace_) * (count / (count + kMemory));
    points_.pop_front(leg_.points);
    if (points_.size() > 1 && points_[1].mark != 0)
      MeasureTo(1, marks);
    else
      Measure(marks);
  }

  Queue<Point> points_;
  Leg leg_;
  double usual_pace_ = 1.0 / 3;
  double tail_pace_ = 0;
};

}  // namespace flowback::pt
