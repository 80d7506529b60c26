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
#include <optional>

#include "decode/schedule/pauses.h"

namespace flowback {
namespace {

class Matcher {
 public:
  // Both or none of `stream` and `evidence` are null.
  Matcher(const std::vector<ThreadStay>& stays, const SharedStream* stream,
          const ResumeEvidence* evidence)
      : stays_(stays), stream_(stream), evidence_(evidence), places_(stays.size()) {}

  // False when all switches have found their place.
  bool Take(const Pause& pause) {
    if (!begin_) begin_ = pause.offset;
    for (; next_ < stays_.size(); Next()) {
      if (Fits(pause, next_)) {
        window_.push_back(pause);
        return true;
      }
      if (pause.earliest <= (pause.inside ? In(next_) : Out(next_)) ||
          (window_.empty() && pause.latest < In(next_))) {
        before_ = pause.offset;
        return true;
      }
      // When the right pause is missing, the flow may have changed hands anywhere before.
      if (window_.empty())
        places_[next_] = {.first = before_, .last = pause.offset, .missed = true};
      else
        Settle();
    }
    return false;
  }

  std::vector<SwitchPlace> Finish() {
    for (; next_ < stays_.size() && !window_.empty(); Next()) Settle();
    KeepOrder();
    return std::move(places_);
  }
  // Offset of the first pause.
  uint64_t begin() const { return begin_.value_or(0); }

 private:
  // When the switch to the stay was.
  uint64_t In(size_t stay) const { return stays_[stay].begin; }
  uint64_t Out(size_t stay) const {
    return stay == 0 ? In(stay) : std::min(stays_[stay - 1].end, stays_[stay].begin);
  }
  bool Fits(const Pause& pause, size_t stay) const {
    if (pause.inside) return pause.earliest <= In(stay) && pause.latest >= Out(stay);
    return pause.earliest <= Out(stay) && pause.latest >= In(stay);
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
    const SwitchPlace& before = places_[next_ - 1];
    const bool may_be_before =
        Fits(pause, next_ - 1) && !(before.known() && before.last < pause.offset);
    const bool may_be_next = next_ + 1 < stays_.size() && Fits(pause, next_ + 1);
    return !may_be_before && !may_be_next;
  }

  void Settle() {
    SwitchPlace place;
    for (const Pause& pause : window_) {
      if (Certain(pause)) {
        place = {.first = pause.offset, .last = pause.offset};
        break;
      }
      if (RuledOut(pause)) continue;
      if (!place.known()) place.first = pause.offset;
      place.last = pause.offset;
    }
    // The addresses contradict the times: something is missing.
    if (!place.known()) place = {.first = window_.front().offset, .last = window_.back().offset};
    // No record tells of anyone before the first.
    if (next_ == 0) place.last = place.first;
    places_[next_] = place;
  }

  // The next switch may be in the same pause as the one before.
  void Next() {
    ++next_;
    if (next_ < stays_.size())
      std::erase_if(window_, [this](const Pause& pause) { return !Fits(pause, next_); });
  }

  // A switch is not behind the one that follows it.
  void KeepOrder() {
    for (size_t i = 1; i < places_.size(); ++i)
      if (places_[i].known() && places_[i - 1].known())
        places_[i].first = std::max(places_[i].first, places_[i - 1].first);
    for (size_t i = places_.size(); i-- > 1;)
      if (places_[i].known() && places_[i - 1].known())
        places_[i - 1].last = std::min(places_[i - 1].last, places_[i].last);
  }

  const std::vector<ThreadStay>& stays_;
  const SharedStream* stream_;
  const ResumeEvidence* evidence_;
  std::vector<SwitchPlace> places_;
  size_t next_ = 0;
  std::vector<Pause> window_;      // that can be the switch to stays_[next_] by their times
  std::optional<uint64_t> begin_;  // of the flow
  uint64_t before_ = 0;            // offset of the last pause that was too early for the switch
};

// Makes changes of places.
class Changes {
 public:
  explicit Changes(Schedule& schedule) : schedule_(schedule) {
    changes_.push_back({.offset = 0, .stay = &schedule.nobody});
  }

  void Add(size_t stay, const SwitchPlace& place) {
    if (!place.found()) return;
    if (stay > 0 && (place.missed || place.first < place.last))
      Append({.offset = place.first, .stay = Between(stay)});
    Append({.offset = place.last, .stay = &schedule_.stays[stay]});
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

  void Append(const StayChange& change) {
    while (!changes_.empty() && changes_.back().offset >= change.offset) changes_.pop_back();
    changes_.push_back(change);
  }

  Schedule& schedule_;
  std::vector<StayChange> changes_;
};

StayChanges ChangesOf(Matcher& matcher, Schedule& schedule) {
  StayChanges result;
  result.places = matcher.Finish();
  Changes changes(schedule);
  for (size_t i = 0; i < result.places.size(); ++i) changes.Add(i, result.places[i]);
  result.changes = changes.Finish(matcher.begin());
  return result;
}

bool OneThread(const std::vector<ThreadStay>& stays) {
  return std::ranges::all_of(stays,
                             [&](const ThreadStay& stay) { return stay.tid == stays.front().tid; });
}

}  // namespace

StayChanges FindStayChanges(const Stream& stream, const PtConfig& config, Schedule& schedule) {
  if (schedule.stays.empty()) return {{{.offset = 0, .stay = &schedule.nobody}}, {}};
  if (OneThread(schedule.stays)) return {{{.offset = 0, .stay = &schedule.stays.front()}}, {}};
  Matcher matcher(schedule.stays, nullptr, nullptr);
  const bool timed =
      config.time.known() && VisitPauses(stream.bytes, stream.gaps, config,
                                         [&](const Pause& pause) { return matcher.Take(pause); });
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
