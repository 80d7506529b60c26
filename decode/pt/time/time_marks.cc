// SPDX-License-Identifier: MIT
#include "decode/pt/time/time_marks.h"

#include <functional>

#include "decode/pt/time/reciprocal.h"

namespace flowback::pt {
namespace {

using Mark = TimeMarks::Mark;

// The CYC packets between two marks with their own times.
class CycleScale {
 public:
  // `from`: null without an earlier time.
  CycleScale(const Mark* from, const Mark& to, const Clock& rates)
      : from_(from), to_(to), rates_(rates) {
    if (from_ != nullptr) range_ = to.tsc - std::min(from->tsc, to.tsc);
  }

  // Makes a CYC's mark final, but for the order among marks.
  void Calibrate(Mark& mark) {
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
      Admit(*from_, to_, mark);
    }
    mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
  }

  // Whether Quick does what Calibrate does for all marks of no more cycles than `to` has.
  bool IsQuick() {
    if (from_ == nullptr || to_.cycles == 0 || to_.ratio == 0 || !rates_.KnowsNominal())
      return false;
    Measure(to_.cycles);
    return steady_ && rates_.LeastPer(to_.ratio).IsExactFor(to_.cycles, rates_.LeastFactor()) &&
           per_half_.IsExactFor(range_, 2 * to_.cycles + 1);
  }
  // Calibrate in the usual case, where nothing must be looked at for each mark. A value, for loops
  // to have in registers.
  struct Quick {
    const uint64_t all, from_lo, from_tsc, to_hi, range, factor;
    const Reciprocal per_least, per_half;

    [[gnu::always_inline]] void Calibrate(Mark& mark) const {
      const uint64_t cycles = mark.cycles;
      const uint64_t rest = per_least.DivideExact((all - cycles) * factor);
      uint64_t hi = to_hi - std::min(to_hi, rest);
      uint64_t lo = from_lo + per_least.DivideExact(cycles * factor);
      if (lo > hi || hi < from_lo) [[unlikely]] {
        lo = from_lo;
        hi = to_hi;
      }
      const uint64_t tsc = from_tsc + per_half.DivideExact(range * (2 * cycles + 1));
      mark.lo = lo;
      mark.hi = hi;
      mark.tsc = std::clamp(tsc, lo, hi);
    }
  };
  // REQUIRES: IsQuick.
  Quick Quickly() const {
    return {to_.cycles,
            from_->lo,
            from_->tsc,
            to_.hi,
            range_,
            rates_.LeastFactor(),
            rates_.LeastPer(to_.ratio),
            per_half_};
  }

 private:
  // More cycles than there was time: the ratio does not hold. The marks around hold in any case.
  static void Admit(const Mark& from, const Mark& to, Mark& mark) {
    if (mark.lo <= mark.hi && mark.hi >= from.lo) return;
    mark.lo = from.lo;
    mark.hi = to.hi;
  }
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
    if (!measured_ || all != all_) Measure(all);
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
  for (;;) {
    Mark* const open = marks_.begin() + (std::max(resolved_ + 1, first_) - first_);
    Mark* const next = std::find_if(open, marks_.end(), std::mem_fn(&Mark::TellsItself));
    if (next == marks_.end()) return;
    const Number number = first_ + static_cast<Number>(next - marks_.begin());
    next->tsc = std::clamp(next->tsc, next->lo, next->hi);
    Calibrate(number, rates);
    KeepOrder(number);
    base_ = resolved_ = number;
  }
}

// Resolves the CYCs up to `end`, which has its own time.
void TimeMarks::Calibrate(Number end, const Clock& rates) {
  if (resolved_ + 1 == end) return;
  CycleScale scale(base_ == 0 ? nullptr : &At(base_), At(end), rates);
  scale.Calibrate(Known(resolved_ + 1));
  KeepOrder(resolved_ + 1);
  Mark* before = &Known(resolved_ + 1);
  const Mark* const to = &At(end);
  if (before + 1 != to && scale.IsQuick()) {
    const CycleScale::Quick quick = scale.Quickly();
    for (; before + 1 != to && before[1].cycles <= quick.all; ++before) {
      quick.Calibrate(before[1]);
      KeepBehind(before[0], before[1]);
    }
  }
  for (; before + 1 != to; ++before) {
    scale.Calibrate(before[1]);
    KeepBehind(before[0], before[1]);
  }
}

// Puts the mark behind the one before, even if its time says otherwise.
[[gnu::always_inline]] inline void TimeMarks::KeepBehind(const Mark& before, Mark& mark) {
  const uint64_t lo = std::max(mark.lo, before.lo);
  uint64_t tsc = std::max(mark.tsc, before.tsc);
  mark.lo = lo;
  if (mark.hi != 0) {
    mark.hi = std::max({mark.hi, before.hi, lo});
    tsc = std::clamp(tsc, lo, mark.hi);
  }
  mark.tsc = tsc;
}

void TimeMarks::KeepOrder(Number number) {
  Mark& mark = Known(number);
  if (number > first_) return KeepBehind(At(number - 1), mark);
  if (mark.hi == 0) return;
  mark.hi = std::max(mark.hi, mark.lo);
  mark.tsc = std::clamp(mark.tsc, mark.lo, mark.hi);
}

void TimeMarks::ResolveDeferredMarks(const Clock& rates) {
  for (Number n = std::max({unsaid_first_, resolved_ + 1, first_}); n <= unsaid_last_; ++n) {
    Mark& mark = Known(n);
    const uint64_t all_cycles = mark.all_cycles;
    mark = Of(rates.MarkOf(terms_, mark.cycles));
    mark.all_cycles = all_cycles;
  }
  unsaid_first_ = unsaid_last_ + 1;
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
