// SPDX-License-Identifier: MIT
// The moments that timing packets stand for: marks, by number, and what becomes known of them.
//
// A TSC or MTC contains its time. A CYC contains the number of cycles since the last one of those;
// how long they took follows from both sides, when the next one has come. Until then it waits:
//
//     MTC 1         CYC 2   CYC 3         MTC 4   CYC 5   CYC 6
//     |-- 300 ----->|       |             |
//     |-- 500 ------------->|             |
//     |-- 900 --------------------------->|
//     base                                resolved        last
//
//   CYC 2 is no earlier than MTC 1 and 300 cycles at the highest clock frequency, and no later than
//   MTC 4 less 600 such cycles. Most likely it is where 300 of 900 equal parts have passed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/queue.h"
#include "decode/pt/time/clock.h"

namespace flowback::pt {

class TimeMarks {
 public:
  using Number = uint64_t;  // from 1; 0 = no mark

  // The time from its packet; the final one once the mark is resolved.
  struct Mark {
    uint64_t tsc = 0;         // most likely
    uint64_t lo = 0;          // not before
    uint64_t hi = 0;          // not after; 0: not known
    uint64_t cycles = 0;      // as TimeMark has it, like `ratio`
    uint64_t all_cycles = 0;  // since the first mark
    TimeMark::Kind kind{};
    bool in_doubt = false;
    uint8_t ratio = 0;

    bool TellsItself() const { return kind != TimeMark::Kind::kCyc; }
  };

  Number last() const { return last_; }
  // Marks up to here are final.
  Number resolved() const { return resolved_; }
  // One that has been forgotten is as the first that has not.
  const Mark& At(Number number) const { return marks_[number < first_ ? 0 : number - first_]; }
  Number OldestOr(Number number) const { return number == 0 ? first_ : number; }

  [[gnu::always_inline]] void Add(const TimeMark& told) {
    marks_.push_back(Of(told));
    marks_.back().all_cycles = AllCycles(told);
    ++last_;
  }
  // CYC packets, one behind the other, as AddCyc has them: most are made final before anybody asks
  // what was known of them when they came. `rates`: as Resolve has them.
  void BeginCycs(const Clock::CycTerms& terms, const Clock& rates) {
    if (unsaid_first_ <= last_ && unsaid_last_ == last_ && terms == terms_) return;
    ResolveDeferredMarks(rates);
    terms_ = terms;
    unsaid_first_ = last_ + 1;
  }
  [[gnu::always_inline]] void AddCyc(uint64_t cycles_told) {
    marks_.push_back({.cycles = cycles_told,
                      .all_cycles = base_cycles_ + cycles_told,
                      .kind = TimeMark::Kind::kCyc,
                      .in_doubt = terms_.in_doubt,
                      .ratio = terms_.highest_ratio});
    unsaid_last_ = ++last_;
  }
  // Computes the deferred marks. Call it before ResolveOpen, and before a copy that continues.
  void ResolveDeferredMarks(const Clock& rates);
  // Instead of the last one.
  void Replace(const TimeMark& told) {
    marks_.back() = Of(told);
    marks_.back().all_cycles = AllCycles(told);
    resolved_ = std::min(resolved_, last_ - 1);
  }
  // What a TSC packet, the next mark, says of the marks in doubt before it.
  void Correct(const TimeMark& tsc);
  // Makes all marks final. REQUIRES: the last one has its own time, and is not in doubt.
  void Resolve(const Clock& rates);
  // The same where no packet has confirmed them. REQUIRES: ResolveDeferredMarks has been called.
  void ResolveOpen();
  // Forgets marks before `keep`, which are not needed any more. REQUIRES: keep <= resolved().
  void Forget(Number keep);
  // Gives `use` all that it consists of, for a state that is kept in bytes. REQUIRES:
  // ResolveDeferredMarks has been called.
  template <class Self, class Use>
  static void Parts(Self& of, Use use) {
    auto& [marks, first, last, resolved, base, base_cycles, terms, unsaid_first, unsaid_last] = of;
    use(marks, first, last, resolved, base, base_cycles);
  }

 private:
  static Mark Of(const TimeMark& told) {
    return {told.tsc, told.lo, told.hi, told.cycles, 0, told.kind, told.in_doubt, told.ratio};
  }
  // Up to the mark, which comes next.
  uint64_t AllCycles(const TimeMark& told) {
    const uint64_t all = base_cycles_ + told.cycles;
    if (told.kind != TimeMark::Kind::kCyc) base_cycles_ = all;
    return all;
  }
  Mark& Known(Number number) { return marks_[number < first_ ? 0 : number - first_]; }
  void Calibrate(Number end, const Clock& rates);
  void KeepOrder(Number number);
  static void KeepBehind(const Mark& before, Mark& mark);

  Queue<Mark> marks_;
  Number first_ = 1;  // of marks_.front()
  Number last_ = 0;
  Number resolved_ = 0;
  Number base_ = 0;           // the last one up to resolved_ with its own time
  uint64_t base_cycles_ = 0;  // Mark::all_cycles of the last one of all with its own time
  // First and last mark of CYCs that have only their cycles so far. Their times are computed from
  // these terms, unless a mark has made them final.
  Clock::CycTerms terms_;
  Number unsaid_first_ = 1;
  Number unsaid_last_ = 0;
};

}  // namespace flowback::pt
