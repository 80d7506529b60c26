// SPDX-License-Identifier: MIT
#include "decode/pt/time_marks.h"

#include "decode/pt/reciprocal.h"

namespace flowback::pt {
namespace {

using Mark = TimeMarks::Mark;

// The CYC packets between two marks that tell themselves.
class CycleScale {
 public:
  // `from`: null where nothing told the time before.
  CycleScale(const Mark* from, const Mark& to, const Clock& rates)
      : from_(from), to_(to), rates_(rates) {
    if (from_ != nullptr) range_ = to.tsc - std::min(from->tsc, to.tsc);
  }

  // Makes a CYC's mark final, but for the order among marks.
  [[gnu::always_inline]] void Calibrate(Mark& mark) {
    const uint64_t all = std::max(to_.cycles, mark.cycles);
    const uint64_t rest = rates_.AtLeast(all - mark.cycles, to_.ratio);
    const uint64_t cycles = mark.cycles;
    mark.lo = 0;
    mark.hi = to_.hi - std::min(to_.hi, rest);
    if (from_ == nullptr) {
      mark.tsc = to_.tsc - std::min(to_.tsc, rates_.Likely(all - cycles, to_.ratio));
    } else {
      mark.lo = from_->lo + rates_.AtLeast(cycles, to_.ratio);
      mark.tsc = from_->tsc + SinceFrom(cycles, all);
      // More cycles than there was time: the ratio does not hold. The marks around hold in any
      // case.
      if (mark.lo > mark.hi || mark.hi < from_->lo) {
        mark.lo = from_->lo;
        mark.hi = to_.hi;
      }
    }
    mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
  }

 private:
  // Fewer cycles than there was time: the core stood still at some place; at none known. Without a
  // ratio, of two likely courses the plain one.
  void Measure(uint64_t all) {
    measured_ = true;
    all_ = all;
    const uint64_t likely = rates_.Likely(all, to_.ratio);
    steady_ = all != 0 && (to_.ratio == 0 || range_ <= likely + likely / 10);
    if (steady_) per_half_ = Reciprocal(2 * all);
  }
  uint64_t SinceFrom(uint64_t cycles, uint64_t all) {
    if (!measured_ || all != all_) [[unlikely]]
      Measure(all);
    // Cycles are whole ones: half a one more is the likeliest.
    if (steady_) return per_half_.Scale(range_, 2 * cycles + 1);
    return rates_.Likely(cycles, to_.ratio);
  }

  const Mark* const from_;
  const Mark& to_;
  const Clock& rates_;
  uint64_t range_ = 0;  // ticks
  bool measured_ = false;
  uint64_t all_ = 0;
  bool steady_ = false;
  Reciprocal per_half_;
};

}  // namespace

// Where the counter may have turned over at one place only, all marks in doubt were as late. Else
// each of them by some of these turns, or none.
void TimeMarks::Correct(const TimeMark& tsc) {
  if (tsc.late == 0) return;
  for (Number number = std::max(resolved_ + 1, first_); number <= last_; ++number) {
    Mark& told = Known(number);
    if (!told.in_doubt || !told.TellsItself()) continue;
    told.hi += tsc.late + 1;  // rounded to a whole tick
    if (tsc.doubts == 1) {
      told.lo += tsc.late - 1;
      told.tsc += tsc.late;
    }
  }
}

void TimeMarks::Resolve(const Clock& rates) {
  for (Number number = resolved_ + 1; number <= last_; ++number) {
    Mark& mark = Known(number);
    if (!mark.TellsItself()) continue;
    mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
    Calibrate(number, rates);
    KeepOrder(number);
    base_ = resolved_ = number;
  }
}

// The CYCs up to `end`, which tells itself.
void TimeMarks::Calibrate(Number end, const Clock& rates) {
  if (resolved_ + 1 == end) return;
  CycleScale scale(base_ == 0 ? nullptr : &At(base_), At(end), rates);
  scale.Calibrate(Known(resolved_ + 1));
  KeepOrder(resolved_ + 1);
  Mark* before = &Known(resolved_ + 1);
  for (const Mark* const to = &At(end); before + 1 != to; ++before) {
    scale.Calibrate(before[1]);
    KeepBehind(before[0], before[1]);
  }
}

// Marks come in the order of their times, whatever they say.
inline void TimeMarks::KeepBehind(const Mark& before, Mark& mark) {
  mark.lo = std::max(mark.lo, before.lo);
  mark.tsc = std::max(mark.tsc, before.tsc);
  if (mark.hi == 0) return;
  mark.hi = std::max({mark.hi, before.hi, mark.lo});
  mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
}

void TimeMarks::KeepOrder(Number number) {
  Mark& mark = Known(number);
  if (number > first_) return KeepBehind(At(number - 1), mark);
  if (mark.hi == 0) return;
  mark.hi = std::max(mark.hi, mark.lo);
  mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
}

void TimeMarks::ResolveOpen() {
  while (resolved_ < last_) {
    Mark& mark = Known(++resolved_);
    mark.hi = 0;
    mark.tsc = std::max(mark.tsc, mark.lo);
    if (mark.TellsItself()) base_ = resolved_;
    KeepOrder(resolved_);
  }
}

void TimeMarks::Forget(Number keep) {
  if (base_ != 0) keep = std::min(keep, base_);
  if (resolved_ != 0) keep = std::min(keep, resolved_);
  if (keep <= first_) return;
  const size_t gone = std::min<size_t>(keep - first_, marks_.size());
  marks_.pop_front(gone);
  first_ += gone;
}

}  // namespace flowback::pt
