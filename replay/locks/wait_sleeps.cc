// SPDX-License-Identifier: MIT
// Which gaps in the flow, and which times off the CPU, a thread slept in for others.
#include <algorithm>

#include "base/linux/linux_waiting_calls.h"
#include "replay/locks/wait_teller.h"

namespace flowback {
namespace {

constexpr uint64_t kLeastWait = 20'000;  // ns

WaitState StateOf(const UntracedGap& gap) {
  return gap.came_back ? WaitState::kWhole : WaitState::kCutByEnd;
}

}  // namespace

// The stack reports a stop soon after it.
void WaitTeller::NoteStop(const Stop& stop) {
  stops_.push_back(stop);
  if (stops_.size() > kMostStops) stops_.pop_front();
}

// A call that wakes others, or lets go of something, waits for no other thread.
bool WaitTeller::IsWait(const UntracedGap& gap, const CallArguments& call) const {
  if (gap.cause != UntracedGap::Cause::kSystemCall) return false;
  const std::optional<uint32_t> number = gap.call_number ? gap.call_number : call.number;
  if (!number) return false;
  if (!IsFutexCall(*number, gap.call_abi))
    return plan_.blocking && CanBlock(*number, gap.call_abi) && IsLong(gap);
  const bool in_lock = !frames_.empty() && frames_.back().lock != kNoLock;
  if (in_lock && frames_[frames_.back().lock].use.use == LockUse::kTries) return false;
  if (call.operation) return FutexWaits(*call.operation);
  if (IsShort(gap)) return false;
  return !in_lock || std::any_of(frames_.begin() + static_cast<ptrdiff_t>(frames_.back().lock),
                                 frames_.end(), [](const Frame& each) { return each.use.waits(); });
}

// A call that may block did not wait if it took no longer than copying the available data.
bool WaitTeller::IsLong(const UntracedGap& gap) const {
  if (!gap.came_back) return true;
  return plan_.unit.nanoseconds() &&
         PointOf({.tsc = gap.end_tsc, .bounds = {}}).time -
                 PointOf({.tsc = gap.begin_tsc, .bounds = gap.begin_bounds}).time >=
             kLeastWait;
}

// Whether the trace proves that the call did not take longer than one that wakes others.
bool WaitTeller::IsShort(const UntracedGap& gap) const {
  if (!gap.came_back || account_ == nullptr || !plan_.unit.nanoseconds()) return false;
  const TimePoint begin = PointOf({.tsc = gap.begin_tsc, .bounds = gap.begin_bounds});
  const TimePoint end = PointOf({.tsc = gap.end_tsc, .bounds = start_bounds_});
  return end.hi != kOpenTime && end.hi - begin.lo < kLeastWait;
}

void WaitTeller::OnGap(const UntracedGap& gap, size_t depth) {
  const uint64_t position = stack_->instructions();
  BeginUpTo(position);
  PopTo(depth);
  while (!stops_.empty() && stops_.front().position < position) stops_.pop_front();
  const Stop stop = stops_.empty() ? Stop{.position = position, .quiet_since = position, .call = {}}
                                   : stops_.front();
  if (!IsWait(gap, stop.call)) return;
  const uint32_t number = WaitAt({.address = gap.site,
                                  .space = gap.space,
                                  .position = position,
                                  .quiet_since = stop.quiet_since,
                                  .last_atomic = stop.last_atomic,
                                  .sleeps = true});
  OpenWait& open = open_[number];
  const TimePoint begin = PointOf({.tsc = gap.begin_tsc, .bounds = gap.begin_bounds});
  TimePoint end = PointOf({.tsc = gap.end_tsc, .bounds = start_bounds_});
  if (!gap.came_back && account_ != nullptr) end = TimePoint::Exact(account_->end);
  Extend(open, begin, end);
  NoteWaited(number, begin, end, true);
  ++open.wait.sleeps;
  open.waits = true;
  open.wait.sleeping += end.time - std::min(begin.time, end.time);
  plan_.sink.OnSleep(begin.time, end.time);
  if (StateOf(gap) != WaitState::kWhole) open.wait.state = StateOf(gap);
}

// If the kernel is traced, no gap shows that a thread slept in a lock: it left the CPU there.
void WaitTeller::NoteSleeps(size_t depth, const TimePoint& end) {
  const Frame frame = frames_[depth];
  if (plan_.away == nullptr || account_ == nullptr || !frame.use.waits()) return;
  const Item item{.address = frame.entry,
                  .space = frame.space,
                  .position = frame.position,
                  .quiet_since = frame.position,
                  .last_atomic = frame.position,
                  .sleeps = true};
  for (const TimeAway::Sleep& sleep :
       plan_.away->SleepsBetween(thread_, frame.entered.time, end.time)) {
    const uint32_t number = WaitAt(item);
    OpenWait& open = open_[number];
    Extend(open, sleep.begin, sleep.end);
    NoteWaited(number, sleep.begin, sleep.end, true);
    ++open.wait.sleeps;
    open.waits = true;
    open.wait.sleeping += sleep.end.time - sleep.begin.time;
    if (sleep.end.time >= account_->end) open.wait.state = WaitState::kCutByEnd;
    plan_.sink.OnSleep(sleep.begin.time, sleep.end.time);
  }
}

}  // namespace flowback
