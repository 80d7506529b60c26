// SPDX-License-Identifier: MIT
#include "decode/pt/time/time_course.h"

#include <algorithm>

namespace flowback::pt {

void TimeCourse::GoToStart(uint64_t count, Number before, const TimeMarks& marks) {
  GoTo(count, marks);
  while (leg_.end_mark != 0 && leg_.end == count && leg_.end_mark < before) NextLeg(marks);
  PassBreaks(count + 1);
}

// The leg that begins with the first mark among the points.
void TimeCourse::Measure(const TimeMarks& marks) {
  while (!points_.empty() && points_.front().mark == 0) points_.pop_front();
  size_t next = 1;
  while (next < points_.size() && points_[next].mark == 0) ++next;
  if (next < points_.size()) return MeasureTo(next, marks);
  leg_ = {.valid = true, .pace = tail_pace_};
  if (points_.empty()) return;
  const Point& from = points_.front();
  leg_.begin = from.count + (from.starts ? 1 : 0);
  leg_.begin_tsc = marks.At(from.mark).tsc;
  leg_.points = next;
}

// `ticks` and `count`: of the whole leg, which has breaks.
void TimeCourse::MeasureBreaks(double ticks, double count) {
  const double run = std::min(ticks, count * usual_pace_);
  leg_.pace = count == 0 ? 0 : run / count;
  leg_.pause = (ticks - run) / static_cast<double>(leg_.points - 1);
}

void TimeCourse::SkipToEnd(const TimeMarks& marks) {
  Measure(marks);
  while (leg_.end_mark != 0) NextLeg(marks);
  leg_.valid = false;
}

}  // namespace flowback::pt
