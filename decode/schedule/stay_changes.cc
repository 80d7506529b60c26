// SPDX-License-Identifier: MIT
//
// The kernel switches threads while tracing is off, so a switch lies in a pause of the trace. The
// records tell when it was: from the one thread's "out" to the next one's "in". The packets tell
// between which times a pause lies. Mostly one pause alone can hold the switch, because it took
// longer than the distance of two timing packets. Where several can, the trace from the first of
// them to the last is nobody's: one of the two threads made it, but which one is not known.
#include "decode/schedule/stay_changes.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "decode/schedule/pauses.h"

namespace flowback {
namespace {

class Matcher {
 public:
  explicit Matcher(Schedule& schedule) : schedule_(schedule), stays_(schedule.stays) {
    changes_.push_back({.offset = 0, .stay = &schedule.nobody});
  }

  // False when all switches have found their place.
  bool Take(const Pause& pause) {
    if (pause.at_end) return TakeEnd(pause);
    if (!begin_) begin_ = pause.offset;
    for (; next_ < stays_.size(); ++next_) {
      if (Fits(pause)) {
        Remember(pause);
        return true;
      }
      if (pause.earliest <= (pause.inside ? In() : Out())) return TooEarly(pause);
      if (candidates_.empty()) {
        if (pause.latest < In()) return BetweenTheTwo();
        Remember(pause);
        missed_ = true;
      }
      Decide();
    }
    return TakeBehindTheLast(pause);
  }

  std::vector<StayChange> Finish() {
    DecideAll();
    // Before the flow begins nobody ran.
    if (changes_.size() > 1 && changes_[1].offset == begin_) {
      changes_.erase(changes_.begin());
      changes_.front().offset = 0;
    }
    return std::move(changes_);
  }

 private:
  // When the switch to the next stay was.
  uint64_t In() const { return stays_[next_].begin; }
  uint64_t Out() const {
    if (next_ == 0) return In();
    const uint64_t end = stays_[next_ - 1].end;
    return next_ == stays_.size() ? end : std::min(end, In());
  }
  bool Fits(const Pause& pause) const {
    if (pause.inside) return pause.earliest <= In() && pause.latest >= Out();
    return pause.earliest <= Out() && pause.latest >= In();
  }

  // The thread before may have gone in the first pause that does not end before its time.
  bool TooEarly(const Pause& pause) {
    if (!left_ || left_->latest < Out()) left_ = pause;
    return true;
  }

  // The flow went on behind the one stay and before the other: a third thread made it, whose
  // records were lost.
  bool BetweenTheTwo() {
    if (next_ > 0) Change({.offset = left_->offset, .stay = Between()});
    return true;
  }

  // The flow went on until then at least, though its thread had gone.
  bool TakeEnd(const Pause& end) {
    DecideAll();
    if (next_ > 0 && end.earliest > Out())
      Change(
          {.offset = left_->offset, .stay = next_ < stays_.size() ? Between() : &schedule_.nobody});
    return false;
  }

  // What goes on after the last thread went is nobody's. False when that is found.
  bool TakeBehindTheLast(const Pause& pause) {
    if (pause.inside || pause.earliest <= Out()) return Out() != ~uint64_t{0} && TooEarly(pause);
    Change({.offset = left_->offset, .stay = &schedule_.nobody});
    return false;
  }

  void Remember(const Pause& pause) {
    if (!candidates_.empty() && candidates_.back().offset == pause.offset) return;
    // Of many, the first and the last matter.
    if (candidates_.size() == 2) candidates_.pop_back();
    candidates_.push_back(pause);
  }

  void DecideAll() {
    for (; next_ < stays_.size() && !candidates_.empty(); ++next_) Decide();
  }

  void Decide() {
    const uint64_t last = candidates_.back().offset;
    if (next_ > 0 && (missed_ || (candidates_.size() > 1 && !SameThread()))) {
      // When the right pause is missing, the flow may have changed hands anywhere before.
      const uint64_t first = missed_ ? left_->offset : candidates_.front().offset;
      Change({.offset = first, .stay = Between()});
    }
    Change({.offset = last, .stay = &schedule_.stays[next_]});
    left_ = candidates_.back();
    // The next switch can't be in an earlier pause; it may be in the same one.
    candidates_.erase(candidates_.begin(), candidates_.end() - 1);
    missed_ = false;
    if (next_ + 1 >= stays_.size()) return;
    ++next_;
    if (!Fits(candidates_.back())) candidates_.clear();
    --next_;
  }

  bool SameThread() const {
    const ThreadStay& one = stays_[next_ - 1];
    return one.tid == stays_[next_].tid && one.pid == stays_[next_].pid;
  }

  const ThreadStay* Between() {
    const ThreadStay& one = stays_[next_ - 1];
    const ThreadStay& other = stays_[next_];
    ThreadStay& between = schedule_.between.emplace_back(schedule_.nobody);
    between.begin = one.end;
    between.end = other.begin;
    if (one.pid == other.pid) {
      between.pid = one.pid;
      between.code = one.code;
    }
    return &between;
  }

  void Change(const StayChange& change) {
    if (changes_.back().offset >= change.offset) changes_.pop_back();
    changes_.push_back(change);
  }

  Schedule& schedule_;
  const std::vector<ThreadStay>& stays_;
  size_t next_ = 0;
  std::vector<Pause> candidates_;  // for the switch to stays_[next_]: the first and the last
  std::optional<uint64_t> begin_;  // of the flow
  // The pause in which the thread before may have gone, should none of them hold the switch.
  // Known from the second stay on.
  std::optional<Pause> left_;
  bool missed_ = false;  // the right pause is not among them
  std::vector<StayChange> changes_;
};

bool OneThread(const std::vector<ThreadStay>& stays) {
  return std::ranges::all_of(stays, [&](const ThreadStay& stay) {
    return stay.tid == stays.front().tid && stay.pid == stays.front().pid;
  });
}

}  // namespace

std::vector<StayChange> FindStayChanges(Bytes stream, const PtConfig& config, Schedule& schedule) {
  if (schedule.stays.empty()) return {{.offset = 0, .stay = &schedule.nobody}};
  const std::vector<StayChange> one = {{.offset = 0, .stay = &schedule.stays.front()}};
  const bool one_thread = OneThread(schedule.stays);
  if (one_thread && schedule.alone) return one;
  Matcher matcher(schedule);
  const bool timed = config.time.known() && VisitPauses(stream, config, [&](const Pause& pause) {
                       return matcher.Take(pause);
                     });
  if (!timed && one_thread) return one;
  if (!timed) return {{.offset = 0, .stay = &schedule.nobody}};
  return matcher.Finish();
}

}  // namespace flowback
