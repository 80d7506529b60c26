// SPDX-License-Identifier: MIT
// Which lock a wait is for, where the addresses of atomic operations are known.
//
// In a lock's function it is the first operation's address: the word that locks a mutex, or a
// condition's or barrier's count. Elsewhere it depends on what the code does:
//
//   ticket, queue    xadd or xchg, then the loop       the operation before the loop
//   CAS              the loop has it                   the same
//   test-and-set     the loop reads, then xchg         the first operation behind the loop
//   a futex by hand  operations, then the call         the operation before, else the futex
#include <algorithm>

#include "replay/locks/wait_teller.h"

namespace flowback {

void WaitTeller::UseUpTo(uint64_t position) {
  for (; !to_use_.empty() && to_use_.front().position < position; to_use_.pop_front())
    OnUse(to_use_.front());
}

void WaitTeller::OnUse(const AtomicUse& use) {
  if (LockInstance* lock = plan_.instances.NoteUse(thread_, use)) NoteFirstUse(use, *lock);
  recent_.push_back(use);
  if (recent_.size() > kMostRecent) recent_.pop_front();
  if (frames_.empty()) return;
  const size_t lock = frames_.back().lock;
  if (lock != kNoLock && !frames_[lock].first_use) OnFirstUse(lock, use);
  GiveInstances(use);
}

// The first use of a lock by any thread says where it comes from.
void WaitTeller::NoteFirstUse(const AtomicUse& use, LockInstance& lock) {
  const uint64_t time = PointOf(use.time).time;
  if (lock.threads.size() > 1 && time >= lock.time) return;
  lock.time = time;
  lock.thread = thread_;
  lock.space = use.space;
  lock.ip = use.ip;
  lock.call = 0;
  lock.path = PathTree::kRoot;
  if (frames_.empty()) return;
  lock.path = NodeOf(frames_.size() - 1);
  const size_t outermost = frames_.back().lock;
  if (outermost != kNoLock) lock.call = frames_[outermost].site;
}

void WaitTeller::OnFirstUse(size_t depth, const AtomicUse& use) {
  Frame& frame = frames_[depth];
  frame.first_use = use;
  if (frame.releases) TellReleasing(frame, use.address);
  if (!frame.use.waits()) return;
  const bool is_event = frame.use.use == LockUse::kWaits;
  plan_.sink.OnAcquisitionOf(SiteOf(depth, {.space = frame.space}),
                             plan_.instances.NumberOf(thread_, use, is_event));
}

void WaitTeller::TellReleasing(Frame& frame, uint64_t address) {
  plan_.sink.OnReleasing(frame.use.family, frame.entered, address);
  frame.releases = false;
}

// To the innermost waits that have none.
void WaitTeller::GiveInstances(const AtomicUse& use) {
  constexpr size_t kMostFrames = 8;
  const size_t last = frames_.size() - std::min(frames_.size(), kMostFrames);
  for (size_t depth = frames_.size(); depth-- > last;)
    if (frames_[depth].wants_instance) GiveInstance(depth, use);
}

void WaitTeller::GiveInstance(size_t depth, const AtomicUse& use) {
  Frame& frame = frames_[depth];
  frame.wants_instance = false;
  const auto open = open_.find(frame.wait);
  if (open == open_.end()) return;
  const bool is_event = frame.use.use == LockUse::kWaits;
  open->second.wait.address = use.address;
  open->second.wait.instance = plan_.instances.NumberOf(thread_, use, is_event);
}

// Returns the operation before the wait with the lock's address; null: one that comes will.
const AtomicUse* WaitTeller::UseOf(size_t depth, const Item& item) const {
  constexpr uint64_t kNear = 64;  // instructions
  const Frame& frame = frames_[depth];
  if (frame.lock != kNoLock) {
    const std::optional<AtomicUse>& first = frames_[frame.lock].first_use;
    return first ? &*first : nullptr;
  }
  // Code that was inlined may have released another lock before.
  const bool is_near = item.position - std::min(frame.position, item.position) <= kNear;
  const uint64_t since = is_near ? frame.position : std::max(frame.position, item.quiet_since);
  const auto found =
      std::ranges::find_if(recent_, [&](const AtomicUse& each) { return each.position >= since; });
  return found == recent_.end() ? nullptr : &*found;
}

}  // namespace flowback
