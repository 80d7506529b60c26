// SPDX-License-Identifier: MIT
#include "replay/debug/machine/thread_walk.h"

#include <algorithm>

#include "replay/flow/cursor_search.h"

namespace flowback {
namespace {

using Kind = ThreadCursor::Kind;

// Where control stood behind an event: the address of the next instruction, 0 if unknown. Empty:
// the event does not determine it.
std::optional<uint64_t> NextBehind(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::kStoppedAsync:
    case EventKind::kStarted:
    case EventKind::kOverflow:
      return event.ip;
    case EventKind::kInterrupted:
    case EventKind::kTransactionAbort:
      return event.target;
    case EventKind::kStopped:
      return 0;
    default:
      return std::nullopt;
  }
}

}  // namespace

ThreadWalk::ThreadWalk(FlowIndex& index, const IndexedThread& thread) : position_(index, thread) {
  has_times_ = std::ranges::any_of(thread.shares,
                                   [](const FlowShare& share) { return share.last_tsc != 0; });
  FindEnd();
  ToFirst();
}

void ThreadWalk::FindEnd() {
  position_.ToEnd();
  std::optional<uint64_t> next;
  while (position_.Previous() && !position_.at_instruction()) {
    const bool tells = !next && position_.kind() == Kind::kEvent;
    if (tells) next = NextBehind(position_.event());
    const bool hides =
        !next && (position_.kind() == Kind::kUnknown ||
                  (position_.kind() == Kind::kLoss && !KeepsPlace(position_.loss().cause)));
    if (hides) next = 0;
  }
  end_.last = position_.instruction();
  end_.last_place = position_.place();
  end_.tsc = tsc();
  if (!next) next = end_.last.exit == BlockExit::kStopped ? 0 : end_.last.next;
  end_.is_place = *next != 0;
  end_.pc = *next;
}

// A thread without times has none to look for.
uint64_t ThreadWalk::TimeBefore(size_t share) const {
  const std::vector<FlowShare>& shares = position_.thread().shares;
  for (size_t i = std::min(share, shares.size()); has_times_ && i-- != 0;)
    if (shares[i].last_tsc != 0) return shares[i].last_tsc;
  return 0;
}

uint64_t ThreadWalk::tsc() const {
  if (at_end()) return end_.tsc;
  const uint64_t tsc = position_.tsc();
  return tsc != 0 ? tsc : TimeBefore(position_.share());
}

void ThreadWalk::Return(const Place& place) {
  position_.Return(place);
  if (at_end() && !end_.is_place) ToLast();
}

void ThreadWalk::ToFirst() {
  position_.ToBegin();
  SettleOn(nullptr);
}

void ThreadWalk::ToLast() {
  if (end_.is_place)
    position_.ToEnd();
  else
    position_.Return(end_.last_place);
}

bool ThreadWalk::ToInstruction(uint64_t number) {
  position_.ToInstruction(number);
  if (!at_end()) return true;
  ToLast();
  return end_.is_place && number == position_.number();
}

bool ThreadWalk::ToTime(uint64_t tsc) {
  if (tsc == 0) {
    ToFirst();
    return true;
  }
  if (has_times_)
    flowback::ToTime(position_, tsc);
  else
    position_.ToEnd();
  if (SettleOn(nullptr) && (!at_end() || tsc <= end_.tsc)) return true;
  ToLast();
  return false;
}

void ThreadWalk::Note(Passed* passed) const {
  if (passed == nullptr) return;
  switch (position_.kind()) {
    case Kind::kLoss:
      if (!passed->loss && !KeepsPlace(position_.loss().cause)) passed->loss = position_.loss();
      break;
    case Kind::kEvent:
      if (!passed->event) passed->event = position_.event();
      break;
    case Kind::kUnknown:
      passed->unknown = true;
      break;
    default:
      break;
  }
}

bool ThreadWalk::SettleOn(Passed* passed) {
  while (!position_.at_end() && !position_.at_instruction()) {
    Note(passed);
    position_.Next();
  }
  return !position_.at_end() || end_.is_place;
}

bool ThreadWalk::SettleBack(Passed* passed) {
  while (!position_.at_instruction()) {
    Note(passed);
    if (!position_.Previous()) return false;
  }
  return true;
}

bool ThreadWalk::Next(Passed* passed) {
  if (at_end()) return false;
  const Place start = place();
  position_.Next();
  if (SettleOn(passed)) return true;
  Return(start);
  return false;
}

bool ThreadWalk::Previous(Passed* passed) {
  const Place start = place();
  if (position_.Previous() && SettleBack(passed)) return true;
  Return(start);
  return false;
}

}  // namespace flowback
