// SPDX-License-Identifier: MIT
//
// The kernel switches threads while tracing is off, so a switch lies in a pause of the trace. The
// records bound its time: from the one thread's "out" to the next one's "in". The packets bound the
// times of a pause. Mostly one pause alone can hold the switch, because it took longer than the
// distance of two timing packets. Where several can, the addresses at which the flow goes on may
// rule some out. If more than one is left, the trace from the first of them to the last is
// nobody's: one of the two threads made it, but which one is not known.
#include "decode/schedule/stay_changes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "decode/stream_index.h"

namespace flowback {
namespace {

// The kernel gives a thread's number to another one later, so the process's number must agree, too.
bool SameThread(const ThreadStay& one, const ThreadStay& other) {
  return one.tid == other.tid && one.pid == other.pid;
}

// Where a CPU's stays begin in its stream.
struct Places {
  SwitchPlaces places;
  // From this offset on an unrecorded thread ran. The key is the stay that comes next; behind the
  // last stay it is the number of stays.
  std::map<size_t, uint64_t> strangers;
};

// Finds for each switch the pauses that can hold it. Takes the pauses one by one, in the stream's
// order; `next_` is the stay whose switch has not been found yet.
class Matcher {
 public:
  // `stream` and `evidence` are both given, or both null.
  Matcher(std::span<const ThreadStay> stays, const SharedStream* stream,
          const ResumeEvidence* evidence)
      : stays_(stays), stream_(stream), evidence_(evidence) {
    found_.places = SwitchPlaces(stays.size());
  }

  // False when nothing more can change.
  bool Take(const Pause& pause) {
    if (pause.at_end) return TakeEnd(pause);
    if (!begin_) begin_ = pause.offset;
    for (; next_ < stays_.size(); Next()) {
      if (Fits(pause, next_)) {
        possible_.push_back(pause);
        return true;
      }
      if (!IsPast(pause, next_)) return TooEarly(pause);
      if (!possible_.empty()) {
        Settle(FirstOf([&](size_t stay) { return IsPast(pause, stay); }, stays_.size()));
      } else if (pause.latest < In(next_)) {
        // The flow went on behind the one stay and before the other: a third thread made it, whose
        // records were lost.
        if (next_ > 0) found_.strangers[next_] = left_->offset;
        return true;
      } else {
        Miss(pause);
      }
    }
    return TakeBehindTheLast(pause);
  }

  Places Finish() {
    SettleAll();
    found_.places.KeepOrder();
    return std::move(found_);
  }
  // Offset of the first pause.
  uint64_t begin() const { return begin_.value_or(0); }

 private:
  // When the switch to the stay was.
  uint64_t In(size_t stay) const { return stays_[stay].begin; }
  uint64_t Out(size_t stay) const {
    if (stay == 0) return In(stay);
    const uint64_t end = stays_[stay - 1].end;
    return stay == stays_.size() ? end : std::min(end, In(stay));
  }
  bool Fits(const Pause& pause, size_t stay) const {
    if (pause.inside) return pause.earliest <= In(stay) && pause.latest >= Out(stay);
    return pause.earliest <= Out(stay) && pause.latest >= In(stay);
  }

  // The switch to the stay was before the pause.
  bool IsPast(const Pause& pause, size_t stay) const {
    return pause.earliest > (pause.inside ? In(stay) : Out(stay));
  }

  // No pause can hold the switch, so the one that did is missing: the flow may have changed hands
  // anywhere before this pause. The same holds for stays that follow and are over by now. This
  // happens where the stream has a gap, or where another buffer of the CPU holds the flow.
  void Miss(const Pause& pause) {
    const auto missed = [&pause](uint64_t first) {
      return SwitchPlace{.first = first, .last = pause.offset, .missed = true};
    };
    const size_t first = next_;
    const auto rest = std::views::iota(first + 1, stays_.size());
    const auto over = [&](size_t stay) { return IsPast(pause, stay) && pause.latest >= In(stay); };
    next_ += static_cast<size_t>(std::ranges::partition_point(rest, over) - rest.begin());
    found_.places.Add(first, first + 1, missed(left_ ? left_->offset : 0));
    found_.places.Add(first + 1, next_ + 1, missed(pause.offset));
    left_ = pause;
  }

  // The thread before this switch may have stopped in the first pause that ends after its time was
  // over; that pause is remembered in case that no other one holds the switch.
  bool TooEarly(const Pause& pause) {
    if (!left_ || left_->latest < Out(next_)) left_ = pause;
    return true;
  }

  // The stream ends here. The flow went on at least until then: if its thread had gone before, an
  // unrecorded thread made it.
  bool TakeEnd(const Pause& end) {
    SettleAll();
    if (next_ > 0 && end.earliest > Out(next_)) found_.strangers[next_] = left_->offset;
    return false;
  }

  // Flow that goes on after the last known thread had gone is nobody's. Returns false once the
  // place is found from which that is so.
  bool TakeBehindTheLast(const Pause& pause) {
    if (pause.inside || pause.earliest <= Out(next_))
      return Out(next_) != ~uint64_t{0} && TooEarly(pause);
    found_.strangers[next_] = left_->offset;
    return false;
  }

  // The switch cannot lie in this pause: behind it the flow goes on where it stopped, so the thread
  // before made it, and no thread that may have been switched in during the pause can begin there.
  bool RuledOut(const Pause& pause) const {
    if (evidence_ == nullptr || next_ == 0 || pause.inside) return false;
    const ResumePoint* point = stream_->PointAt(pause.offset);
    if (point == nullptr || !point->SameThread()) return false;
    for (size_t stay = next_; stay < stays_.size() && Fits(pause, stay); ++stay)
      if (stays_[stay].tid == stays_[next_ - 1].tid ||
          evidence_->MayResume(stays_[stay], point->resumed))
        return false;
    return true;
  }

  // The switch must lie in this pause: behind it another thread goes on, and neither the switch
  // before nor the one after can lie here.
  bool Certain(const Pause& pause) const {
    if (evidence_ == nullptr || next_ == 0 || pause.inside) return false;
    const ResumePoint* point = stream_->PointAt(pause.offset);
    if (point == nullptr || !point->OtherThread()) return false;
    const SwitchPlace before = found_.places[next_ - 1];
    const bool may_be_before =
        Fits(pause, next_ - 1) && !(before.known() && before.last < pause.offset);
    const bool may_be_next = next_ + 1 < stays_.size() && Fits(pause, next_ + 1);
    return !may_be_before && !may_be_next;
  }

  // The first stay behind next_, and before `end`, for which the condition does not hold. It must
  // not hold for any later stay either, because this is a binary search.
  template <class Condition>
  size_t FirstOf(const Condition& holds, size_t end) const {
    const auto behind = std::views::iota(next_ + 1, end);
    return next_ + 1 +
           static_cast<size_t>(std::ranges::partition_point(behind, holds) - behind.begin());
  }

  // The end of the stays whose switches all lie in the same pauses as that to next_. Without
  // addresses to choose by, these are all stays that fit each of the pauses. Settling them together
  // saves time if a stream has little trace of a long time, and thus many stays in one pause.
  size_t EndOfRun(size_t end) const {
    if (evidence_ != nullptr || next_ == 0) return next_ + 1;
    for (const Pause& pause : possible_) {
      if (end == next_ + 1) break;
      end = FirstOf([&](size_t stay) { return Fits(pause, stay); }, end);
    }
    return end;
  }

  // Decides where the switch to next_ was, and those to the stays before `end` that lie in the same
  // place.
  void Settle(size_t end) {
    std::span<const Pause> candidates = possible_;
    std::vector<Pause> left;
    if (evidence_ != nullptr) {
      for (const Pause& pause : possible_) {
        if (Certain(pause)) {
          left = {pause};
          break;
        }
        if (!RuledOut(pause)) left.push_back(pause);
      }
      // If no pause is left, addresses and times contradict each other, as something is missing.
      // Then only the times count.
      if (!left.empty()) candidates = left;
    }
    // No record names a thread before the first stay, so its flow begins in the first pause.
    if (next_ == 0) candidates = candidates.first(1);
    const size_t run_end = EndOfRun(end);
    found_.places.Add(next_, run_end,
                      {.first = candidates.front().offset, .last = candidates.back().offset});
    left_ = candidates.back();
    next_ = run_end - 1;
  }
  void SettleAll() {
    for (; next_ < stays_.size() && !possible_.empty(); Next()) Settle(stays_.size());
  }

  // Goes on to the next switch. Pauses in which it may lie as well are kept.
  void Next() {
    ++next_;
    if (next_ < stays_.size())
      std::erase_if(possible_, [this](const Pause& pause) { return !Fits(pause, next_); });
    else
      possible_.clear();
  }

  const std::span<const ThreadStay> stays_;
  const SharedStream* stream_;
  const ResumeEvidence* evidence_;
  Places found_;
  size_t next_ = 0;
  std::vector<Pause> possible_;    // that can be the switch to stays_[next_] by their times
  std::optional<uint64_t> begin_;  // where the flow begins
  // The pause in which the thread before next_ may have stopped, should no pause hold the switch.
  // It is always known from the second stay on.
  std::optional<Pause> left_;
};

// Turns the places of switches into a list of changes: from which offset on whose flow the stream
// has.
class Changes {
 public:
  explicit Changes(Schedule& schedule) : schedule_(schedule) { changes_.push_back({}); }

  void Add(const Places& found) {
    stranger_ = found.strangers.begin();
    strangers_end_ = found.strangers.end();
    for (const SwitchPlaces::Run& run : found.places.runs()) AddRun(run);
    AddStrangers(found.places.size());
  }

  // `begin` is where the flow begins: nobody ran before.
  std::vector<StayChange> Finish(uint64_t begin) {
    if (changes_.size() > 1 && changes_[1].offset == begin) {
      changes_.erase(changes_.begin());
      changes_.front().offset = 0;
    }
    std::vector<StayChange> changes;
    for (const Part& part : changes_)
      changes.push_back({.offset = part.offset, .stay = StayOf(part)});
    return changes;
  }
  bool in_doubt() const { return in_doubt_; }

 private:
  enum class Whose : uint8_t { kNobodys, kOfTheStay, kBetween };
  // A change whose ThreadStay is made at the end only, as most of those between two stays are
  // replaced by later ones.
  struct Part {
    uint64_t offset = 0;
    Whose whose = Whose::kNobodys;
    size_t stay = 0;  // the stay, or the one that follows; behind the last: the number of stays
  };

  // Where several stays began in one place, only the last one of them has any trace.
  void AddRun(const SwitchPlaces::Run& run) {
    const bool one_pause = run.place.missed || run.place.first == run.place.last;
    for (size_t stay = run.begin; stay < run.end; ++stay) {
      AddStrangers(stay);
      const bool more = stranger_ != strangers_end_ && stranger_->first < run.end;
      const size_t last = (more ? stranger_->first : run.end) - 1;
      // Between the first and the last pause the flow is of the thread before the last change of
      // threads, or of the one behind it.
      const size_t change = one_pause ? last : LastChange(stay, last);
      if (change != last) Begin(change, run.place);
      Begin(last, run.place);
      stay = last;
    }
  }

  // Returns the run's last stay whose thread differs from the thread before; the first stay if all
  // have the same thread.
  size_t LastChange(size_t first, size_t last) const {
    const std::span<const ThreadStay> stays = schedule_.stays;
    while (last > first && SameThread(stays[last - 1], stays[last])) --last;
    return last;
  }

  // Adds the flow of unrecorded threads, up to the stay.
  void AddStrangers(size_t stay) {
    for (; stranger_ != strangers_end_ && stranger_->first <= stay; ++stranger_)
      AppendBetween(stranger_->second, stranger_->first);
  }

  void Begin(size_t stay, const SwitchPlace& place) {
    if (!place.found()) return;
    const std::span<const ThreadStay> stays = schedule_.stays;
    if (stay > 0 &&
        (place.missed || (place.first < place.last && !SameThread(stays[stay - 1], stays[stay]))))
      AppendBetween(place.first, stay);
    Append({.offset = place.last, .whose = Whose::kOfTheStay, .stay = stay});
  }

  void AppendBetween(uint64_t offset, size_t stay) {
    in_doubt_ |= stay < schedule_.stays.size();
    Append({.offset = offset, .whose = Whose::kBetween, .stay = stay});
  }

  void Append(const Part& change) {
    while (!changes_.empty() && changes_.back().offset >= change.offset) changes_.pop_back();
    changes_.push_back(change);
  }

  const ThreadStay* StayOf(const Part& part) {
    if (part.whose == Whose::kNobodys) return &schedule_.nobody;
    if (part.whose == Whose::kOfTheStay) return &schedule_.stays[part.stay];
    return part.stay == schedule_.stays.size() ? Behind() : Between(part.stay);
  }

  const ThreadStay* Between(size_t stay) {
    const ThreadStay& one = schedule_.stays[stay - 1];
    const ThreadStay& other = schedule_.stays[stay];
    ThreadStay& between = schedule_.between.emplace_back(schedule_.nobody);
    between.begin = one.end;
    between.end = other.begin;
    if (one.pid == other.pid) {
      between.pid = one.pid;
      between.code = one.code;
    }
    return &between;
  }

  // Each part between stays gets a ThreadStay of its own. Otherwise a request for a piece by its
  // stay would also get the flow ahead of the first stay.
  const ThreadStay* Behind() {
    schedule_.behind = schedule_.nobody;
    schedule_.behind.begin = schedule_.stays.back().end;
    return &schedule_.behind;
  }

  using Stranger = std::map<size_t, uint64_t>::const_iterator;

  Schedule& schedule_;
  std::vector<Part> changes_;
  Stranger stranger_;  // the first that has not been added
  Stranger strangers_end_;
  bool in_doubt_ = false;
};

StayChanges ChangesOf(Matcher& matcher, Schedule& schedule) {
  Places found = matcher.Finish();
  Changes changes(schedule);
  changes.Add(found);
  return {.changes = changes.Finish(matcher.begin()),
          .places = std::move(found.places),
          .in_doubt = changes.in_doubt()};
}

StayChanges WithoutChoice(const ThreadStay* stay) {
  StayChanges all;
  all.changes.push_back({.offset = 0, .stay = stay});
  return all;
}

bool OneThread(std::span<const ThreadStay> stays) {
  return std::ranges::all_of(
      stays, [&](const ThreadStay& stay) { return SameThread(stay, stays.front()); });
}

// As in a stream of one thread's.
bool IsWhole(const ThreadStay& stay) {
  return stay.begin_bound == Bound::kOpen && stay.end_bound == Bound::kOpen;
}

}  // namespace

StayChanges FindStayChanges(const Stream& stream, const TraceSource& source,
                            const TimeConversion& time, Schedule& schedule) {
  if (schedule.stays.empty()) return WithoutChoice(&schedule.nobody);
  const StayChanges one = WithoutChoice(&schedule.stays.front());
  const bool one_thread = OneThread(schedule.stays);
  if (one_thread && (schedule.alone || IsWhole(schedule.stays.front()))) return one;
  Matcher matcher(schedule.stays, nullptr, nullptr);
  const bool timed = time.known() && source.VisitPauses(stream, time, [&](const Pause& pause) {
    return matcher.Take(pause);
  });
  if (!timed && one_thread) return one;
  if (!timed) return WithoutChoice(&schedule.nobody);
  return ChangesOf(matcher, schedule);
}

StayChanges FindStayChanges(const SharedStream& stream, Schedule& schedule,
                            const ResumeEvidence& evidence) {
  schedule.between.clear();
  Matcher matcher(schedule.stays, &stream, &evidence);
  for (const Pause& pause : stream.pauses)
    if (!matcher.Take(pause)) break;
  return ChangesOf(matcher, schedule);
}

}  // namespace flowback
