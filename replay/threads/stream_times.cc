// SPDX-License-Identifier: MIT
//
// The records say when a thread was on the CPU, to the nanosecond: its slot. The trace says in
// which order what happened there, and within bounds when. So slots are filled in the order of the
// trace, each only from where it has been filled to:
//
//      trace    thread 7: executing | off          | thread 8: executing | off
//      slots    [ 7 .......................... )[ 8 ................................ )
//      filled     executing    kernel            kernel   executing        kernel
//
// An estimate that lies beyond the slot's end can't take anything from the next thread: flow of 8
// completes the slots ahead of 8's with the pause between them, and fills 8's alone.
//
// Trace that one of two threads made is neither's; whose slot it is then was lost for that long.
#include "replay/threads/stream_times.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

namespace flowback {
namespace {

constexpr TimePhase kFiltered{.kind = TimeClass::kFiltered, .cause = {}};

// Wherever the file was mapped as code.
void AddAddresses(const std::vector<WatchPlace>& places, const MmapRecord& map,
                  std::set<uint64_t>& addresses) {
  for (const WatchPlace& place : places)
    if (place.file == map.path && place.offset >= map.file_offset &&
        place.offset - map.file_offset < map.size)
      addresses.insert(map.address + (place.offset - map.file_offset));
}

}  // namespace

WatchAddresses::WatchAddresses(const Recording& recording)
    : everything(recording.machine.from.empty() && recording.machine.until.empty()) {
  if (everything) return;
  for (const SidebandRecord& record : recording.sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr) continue;
    AddAddresses(recording.machine.from, *map, from);
    AddAddresses(recording.machine.until, *map, until);
  }
}

// The stop's address is the place behind a filter's border. A recording up to a function stops
// ahead of its first instruction; no branch need lead there.
TimePhase StreamTimes::After(const TraceEvent& event) const {
  const bool span_ends =
      event.kind == EventKind::kStoppedAsync && event.has_ip && span_.until.contains(event.ip);
  if (event.target != 0 || event.kind == EventKind::kTraceStop || span_ends) return kFiltered;
  return Paused();
}

void StreamTimes::OnEvent(const TraceEvent& event) {
  EndLoss(event);
  const bool starts = event.kind == EventKind::kStarted;
  if (!begun_ && starts && phase_ == Paused() && span_.from.contains(event.ip)) phase_ = kFiltered;
  TimePhase next = phase_;
  switch (event.kind) {
    case EventKind::kStarted:
    case EventKind::kOverflow:
      next = {.kind = TimeClass::kExecuting, .cause = {}};
      break;
    case EventKind::kStopped:
    case EventKind::kStoppedAsync:
    case EventKind::kTraceStop:
      next = After(event);
      break;
    default:
      if (!begun_ || event.stay == stay_) return;  // the thread changes while tracing is on
  }
  Turn(unit_.Point(event.tsc, event.bounds), next, event.stay);
}

void StreamTimes::OnLoss(const DataLoss& loss) {
  if (const auto end = std::exchange(loss_end_, std::nullopt)) Turn(*end, Paused(), stay_);
  const TimePhase lost = TimePhase::Of(loss.cause);
  if (!begun_ && loss.begin == 0) phase_ = lost;  // what was ahead of it can't be read either
  Turn(unit_.Point(loss.tsc, loss.bounds), lost, loss.stay);
  // If the time of finding the flow again is unknown, the next event has it.
  if (loss.end == stream_size_ || loss.end_tsc == 0) return;
  loss_end_ = unit_.Point(loss.end_tsc, loss.end_bounds);
  loss_end_offset_ = loss.end;
}

// The packet that ends a loss may start the flow, of another thread maybe. Else it shows that
// tracing is off.
void StreamTimes::EndLoss(const TraceEvent& event) {
  if (!loss_end_ || event.offset < loss_end_offset_) return;
  const bool starts = event.kind == EventKind::kStarted || event.kind == EventKind::kOverflow;
  if (event.offset == loss_end_offset_ && !starts) return;
  const TimePoint end = *loss_end_;
  loss_end_.reset();
  if (event.offset > loss_end_offset_) Turn(end, Paused(), stay_);
}

void StreamTimes::Finish(uint64_t last_tsc) {
  if (loss_end_) Turn(*loss_end_, Paused(), stay_);
  if (phase_.kind == TimeClass::kExecuting) {
    const uint64_t last = last_tsc == 0 ? 0 : unit_.At(last_tsc);
    Turn({.time = last, .lo = 0}, TimePhase::Of(LossCause::kTruncated), stay_);
  }
  const bool nobodys = Several() && begun_ && own_ == kNone;
  GoTo(owners_.slots.size(), nobodys ? TimePhase::Of(LossCause::kThreadUnknown) : phase_);
  for (TimeSlot& slot : owners_.slots) slot.Close();
}

size_t StreamTimes::IndexOf(const ThreadStay* stay) const {
  if (stay == stay_ && begun_) return own_;
  const auto found = std::ranges::lower_bound(owners_.stays, stay, std::ranges::less());
  if (found == owners_.stays.end() || *found != stay) return kNone;
  return static_cast<size_t>(found - owners_.stays.begin());
}

// The phase so far ended at `at`; what follows is `next`, and `stay`'s.
void StreamTimes::Turn(const TimePoint& at, TimePhase next, const ThreadStay* stay) {
  const bool executing = phase_.kind == TimeClass::kExecuting;
  const bool nobodys = Several() && begun_ && own_ == kNone;
  const TimePhase phase = nobodys ? TimePhase::Of(LossCause::kThreadUnknown) : phase_;
  const size_t to = Several() ? IndexOf(stay) : kNone;
  if (!Several()) {
    CoverByTime(at, phase);
  } else if (to == kNone) {
    // To nobody: whose slots these are is not known from here on.
    if (nobodys || own_ == kNone)
      CoverByTime(at, phase);
    else
      owners_.slots[own_].Cover(at, phase);
  } else {
    GoTo(to, phase);
    if (to == own_ || !executing || nobodys) owners_.slots[to].Cover(at, phase);
  }
  phase_ = next;
  stay_ = stay;
  own_ = to;
  begun_ = true;
}

// The slots ahead of `slot` are over.
void StreamTimes::GoTo(size_t slot, TimePhase phase) {
  for (; next_ < slot; ++next_) {
    const bool others = Several() && next_ != own_ && phase.kind == TimeClass::kExecuting;
    owners_.slots[next_].CoverRest(others ? Paused() : phase);
  }
}

void StreamTimes::CoverByTime(const TimePoint& at, TimePhase phase) {
  std::vector<TimeSlot>& slots = owners_.slots;
  for (; next_ < slots.size(); ++next_) {
    if (slots[next_].begin() >= at.time) return;
    slots[next_].Cover(at, phase);
    if (slots[next_].end() > at.time) return;
  }
}

}  // namespace flowback
