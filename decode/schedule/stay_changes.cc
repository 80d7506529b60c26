// SPDX-License-Identifier: MIT
//
// The kernel switches threads while tracing is off, so a switch lies in a pause of the trace. The
// records tell when it was: from the one thread's "out" to the next one's "in". The packets tell
// between which times a pause lies. Mostly one pause alone can hold the switch, because it took
// longer than the distance of two timing packets. Where several can, the addresses at which the
// flow goes on may rule some out. If more than one is left, the trace from the first of them to the
// last is nobody's: one of the two threads made it, but which one is not known.
#include "decode/schedule/stay_changes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include "decode/schedule/pauses.h"

namespace flowback {
namespace {

// Numbers are used again.
bool SameThread(const ThreadStay& one, const ThreadStay& other) {
  return one.tid == other.tid && one.pid == other.pid;
}

// Where a CPU's stays begin in its stream.
struct Places {
  std::vector<SwitchPlace> places;  // by stay
  // By stay, and behind the last: from this offset on a thread ran that no record tells of.
  std::map<size_t, uint64_t> strangers;
};

class Matcher {
 public:
  // Both or none of `stream` and `evidence` are null.
  Matcher(const std::vector<ThreadStay>& stays, const SharedStream* stream,
          const ResumeEvidence* evidence)
      : stays_(stays), stream_(stream), evidence_(evidence) {
    found_.places.resize(stays.size());
  }

  // False when nothing more can change.
  bool Take(const Pause& pause) {
    if (pause.at_end) return TakeEnd(pause);
    if (!begin_) begin_ = pause.offset;
    for (; next_ < stays_.size(); Next()) {
      if (Fits(pause, next_)) {
        window_.push_back(pause);
        return true;
      }
      if (pause.earliest <= (pause.inside ? In(next_) : Out(next_))) return TooEarly(pause);
      if (!window_.empty()) {
        Settle();
      } else if (pause.latest < In(next_)) {
        // The flow went on behind the one stay and before the other: a third thread made it, whose
        // records were lost.
        if (next_ > 0) found_.strangers[next_] = left_->offset;
        return true;
      } else {
        // The right pause is missing: the flow may have changed hands anywhere before.
        found_.places[next_] = {
            .first = left_ ? left_->offset : 0, .last = pause.offset, .missed = true};
        left_ = pause;
      }
    }
    return TakeBehindTheLast(pause);
  }

  Places Finish() {
    SettleAll();
    KeepOrder();
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

  // The thread before may have gone in the first pause that does not end before its time.
  bool TooEarly(const Pause& pause) {
    if (!left_ || left_->latest < Out(next_)) left_ = pause;
    return true;
  }

  // The flow went on until then at least, though its thread had gone.
  bool TakeEnd(const Pause& end) {
    SettleAll();
    if (next_ > 0 && end.earliest > Out(next_)) found_.strangers[next_] = left_->offset;
    return false;
  }

  // What goes on after the last thread went is nobody's. False when that is found.
  bool TakeBehindTheLast(const Pause& pause) {
    if (pause.inside || pause.earliest <= Out(next_))
      return Out(next_) != ~uint64_t{0} && TooEarly(pause);
    found_.strangers[next_] = left_->offset;
    return false;
  }

  // Behind the pause the thread before goes on where it stopped, and neither the next one nor any
  // that may have followed in the same pause can begin there.
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

  // Behind the pause another thread goes on, and only this switch can be the reason.
  bool Certain(const Pause& pause) const {
    if (evidence_ == nullptr || next_ == 0 || pause.inside) return false;
    const ResumePoint* point = stream_->PointAt(pause.offset);
    if (point == nullptr || !point->OtherThread()) return false;
    const SwitchPlace& before = found_.places[next_ - 1];
    const bool may_be_before =
        Fits(pause, next_ - 1) && !(before.known() && before.last < pause.offset);
    const bool may_be_next = next_ + 1 < stays_.size() && Fits(pause, next_ + 1);
    return !may_be_before && !may_be_next;
  }

  void Settle() {
    std::vector<Pause> candidates;
    for (const Pause& pause : window_) {
      if (Certain(pause)) {
        candidates = {pause};
        break;
      }
      if (!RuledOut(pause)) candidates.push_back(pause);
    }
    // The addresses contradict the times: something is missing.
    if (candidates.empty()) candidates = window_;
    // No record tells of anyone before the first.
    if (next_ == 0) candidates.resize(1);
    found_.places[next_] = {.first = candidates.front().offset, .last = candidates.back().offset};
    left_ = candidates.back();
  }
  void SettleAll() {
    for (; next_ < stays_.size() && !window_.empty(); Next()) Settle();
  }

  // The next switch may be in the same pause as the one before.
  void Next() {
    ++next_;
    if (next_ < stays_.size())
      std::erase_if(window_, [this](const Pause& pause) { return !Fits(pause, next_); });
    else
      window_.clear();
  }

  // A switch is not behind the one that follows it.
  void KeepOrder() {
    std::vector<SwitchPlace>& places = found_.places;
    for (size_t i = 1; i < places.size(); ++i)
      if (places[i].known() && places[i - 1].known())
        places[i].first = std::max(places[i].first, places[i - 1].first);
    for (size_t i = places.size(); i-- > 1;)
      if (places[i].known() && places[i - 1].known())
        places[i - 1].last = std::min(places[i - 1].last, places[i].last);
  }

  const std::vector<ThreadStay>& stays_;
  const SharedStream* stream_;
  const ResumeEvidence* evidence_;
  Places found_;
  size_t next_ = 0;
  std::vector<Pause> window_;      // that can be the switch to stays_[next_] by their times
  std::optional<uint64_t> begin_;  // of the flow
  // The pause in which the thread before may have gone, should none of them hold the switch. Known
  // from the second stay on.
  std::optional<Pause> left_;
};

// Makes changes of places.
class Changes {
 public:
  explicit Changes(Schedule& schedule) : schedule_(schedule) {
    changes_.push_back({.offset = 0, .stay = &schedule.nobody});
  }

  void Add(const Places& found) {
    for (size_t stay = 0; stay <= found.places.size(); ++stay) {
      if (const auto stranger = found.strangers.find(stay); stranger != found.strangers.end())
        Append({.offset = stranger->second, .stay = Between(stay)});
      if (stay < found.places.size()) Begin(stay, found.places[stay]);
    }
  }

  // `begin`: of the flow; nobody ran before.
  std::vector<StayChange> Finish(uint64_t begin) {
    if (changes_.size() > 1 && changes_[1].offset == begin) {
      changes_.erase(changes_.begin());
      changes_.front().offset = 0;
    }
    return std::move(changes_);
  }

 private:
  void Begin(size_t stay, const SwitchPlace& place) {
    if (!place.found()) return;
    const std::vector<ThreadStay>& stays = schedule_.stays;
    if (stay > 0 &&
        (place.missed || (place.first < place.last && !SameThread(stays[stay - 1], stays[stay]))))
      Append({.offset = place.first, .stay = Between(stay)});
    Append({.offset = place.last, .stay = &stays[stay]});
  }

  const ThreadStay* Between(size_t stay) {
    if (stay == schedule_.stays.size()) return Behind();
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

  // Whoever asks for a piece by its stay must not get the flow ahead of the first one.
  const ThreadStay* Behind() {
    schedule_.behind = schedule_.nobody;
    schedule_.behind.begin = schedule_.stays.back().end;
    return &schedule_.behind;
  }

  void Append(const StayChange& change) {
    while (!changes_.empty() && changes_.back().offset >= change.offset) changes_.pop_back();
    changes_.push_back(change);
  }

  Schedule& schedule_;
  std::vector<StayChange> changes_;
};

StayChanges ChangesOf(Matcher& matcher, Schedule& schedule) {
  Places found = matcher.Finish();
  Changes changes(schedule);
  changes.Add(found);
  return {changes.Finish(matcher.begin()), std::move(found.places)};
}

bool OneThread(const std::vector<ThreadStay>& stays) {
  return std::ranges::all_of(
      stays, [&](const ThreadStay& stay) { return SameThread(stay, stays.front()); });
}

}  // namespace

StayChanges FindStayChanges(const Stream& stream, const PtConfig& config, Schedule& schedule) {
  if (schedule.stays.empty()) return {{{.offset = 0, .stay = &schedule.nobody}}, {}};
  const StayChanges one = {{{.offset = 0, .stay = &schedule.stays.front()}}, {}};
  const bool one_thread = OneThread(schedule.stays);
  if (one_thread && schedule.alone) return one;
  Matcher matcher(schedule.stays, nullptr, nullptr);
  const bool timed = config.time.known() &&
                     VisitPauses(StreamWindow(stream.bytes, stream.joined), stream.gaps, config,
                                 [&](const Pause& pause) { return matcher.Take(pause); });
  if (!timed && one_thread) return one;
  if (!timed) return {{{.offset = 0, .stay = &schedule.nobody}}, {}};
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
