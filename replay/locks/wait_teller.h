// SPDX-License-Identifier: MIT
// Makes waits of one thread's spinning and sleeping: what belongs to one acquisition is one wait,
// at the outermost function that belongs to the lock.
//
//   worker                          frame
//     pthread_mutex_lock            frame of a lock: one wait for all that happens in it
//       spins        3 trips          stretch
//       futex        1.2 ms           gap
//       spins        1 trip           stretch
//     loop of its own  5 trips      a wait of `worker` itself
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/locks/holders/hold.h"
#include "replay/locks/holders/time_away.h"
#include "replay/locks/lock_calls.h"
#include "replay/locks/lock_functions.h"
#include "replay/locks/lock_instances.h"
#include "replay/locks/lock_sites.h"
#include "replay/locks/locks.h"
#include "replay/locks/spin_finder.h"
#include "replay/spikes/instances/path_tree.h"
#include "replay/threads/stream_times.h"
#include "replay/timeline/function_table.h"

namespace flowback {

// Receives what a thread did with locks, in the order in which it ended.
class WaitSink {
 public:
  virtual ~WaitSink() = default;
  // `family`: of what the thread wants to hold; empty: it waits for a moment.
  virtual void OnWait(const LockWait& wait, std::string_view family) = 0;
  // A system call in which it slept, in a wait that is reported later.
  virtual void OnSleep(uint64_t begin, uint64_t end) = 0;
  // A function that acquires was called there.
  virtual void OnAcquisition(uint32_t site) = 0;
  // The same call, whose lock is known now.
  virtual void OnAcquisitionOf(uint32_t site, uint32_t instance) = 0;
  // The thread has acquired something.
  virtual void OnAcquired(const Acquired& acquired) = 0;
  // It begins to release something (`address`: of the lock; 0: not known), and has released it.
  virtual void OnReleasing(std::string_view family, const TimePoint& time, uint64_t address) = 0;
  virtual void OnReleased(std::string_view family, const TimePoint& time) = 0;
  // While it holds something: it is in the call `node`, the `depth`th of its stack, from then on.
  virtual void OnDoing(uint32_t node, size_t depth, uint64_t time) = 0;
  // Returns how many of the outermost calls OnDoing needs; 0: none.
  size_t followed() const { return followed_; }

 protected:
  size_t followed_ = 0;
};

// What a WaitTeller needs; all of it must outlive the teller.
struct WaitPlan {
  TimeUnit unit;
  FunctionTable& functions;
  LockSites& sites;
  LockInstances& instances;
  PathTree& paths;
  WaitSink& sink;
  bool blocking = false;     // LockOptions::blocking
  TimeAway* away = nullptr;  // where the kernel's code is traced: when threads slept in it
};

// One thread's.
class WaitTeller final : public CallListener {
 public:
  // `account`: the thread's; null: its times are not known.
  WaitTeller(const WaitPlan& plan, uint32_t thread, const TimeAccount* account);

  // Call both before the flow begins. They must outlive it.
  void Follow(const CallStack& stack) { stack_ = &stack; }

  bool WantsCallNumbers() const override { return true; }
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap& gap, size_t depth) override;
  void OnSwitch(uint32_t stack) override;
  void OnCorrection(uint64_t guess, uint64_t next, uint32_t stack, const LeftStack& right) override;
  void OnInherited(const std::vector<Call>& calls, uint64_t address) override;

  // Addresses of operations that come later than all that the stack has been given; in order.
  void NoteUses(const std::vector<AtomicUse>& uses) {
    to_use_.insert(to_use_.end(), uses.begin(), uses.end());
  }
  // Spinning that begins later than all that the stack has been given; in order.
  void Begin(const std::vector<SpinStretch>& stretches);
  // Spinning that has ended. The stack has been given all that came before its begin.
  void End(const std::vector<SpinStretch>& stretches);
  // Tracing may stop here, as it does at a system call.
  struct Stop {
    uint64_t position = 0;     // the number of the thread's instructions before it
    uint64_t quiet_since = 0;  // SpinFinder::quiet_since
    uint64_t last_atomic = 0;  // SpinFinder::last_atomic
    CallArguments call;        // SpinFinder::call
  };
  void NoteStop(const Stop& stop);
  // Tracing has started again; `bounds` has the proven bounds of the time.
  void NoteStart(const TscInterval& bounds) { start_bounds_ = bounds; }
  // The flow has ended.
  void Finish();
  // Calls are left out: later flow is in a call about which nothing is known. REQUIRES: IsIdle.
  void BeginAnew() {
    frames_.clear();
    stops_.clear();
    began_anew_ = true;
  }
  // The stack leapt, and kept its `keep` outermost calls. REQUIRES: IsIdle.
  void Leap(size_t keep);
  // True if a result needs calls that were left out.
  bool misses_calls() const { return misses_calls_; }
  // No wait may go on, and nothing of a lock is under way or held: calls unrelated to locks do not
  // change the result.
  bool IsIdle() const;
  CallCounts TakeCalls() { return calls_.Take(); }

 private:
  static constexpr size_t kMostStops = 64;
  static constexpr size_t kNoLock = SIZE_MAX;
  static constexpr size_t kMostRecent = 64;
  struct Frame {
    uint32_t function = CallPath::kNoFunction;
    uint64_t position = 0;  // instructions of the thread before its entry
    uint64_t site = 0;      // of its call
    uint64_t entry = 0;     // the address of its first instruction
    uint32_t node = PathTree::kRoot;
    uint32_t wait = 0;  // the last that it has, open or not; 0: none
    LockFunction use;
    size_t lock = kNoLock;  // the outermost call of the lock that it belongs to
    unsigned within = 0;    // calls between it and the lock's function
    // For a lock's outermost function: the first operation in it, and whether it is not known yet
    // which lock it releases.
    std::optional<AtomicUse> first_use{};
    bool releases = false;
    bool wants_instance = false;  // of its wait, the lock is not known yet
    const AddressSpace* space = nullptr;
    bool in_kernel = false;
    bool is_handler = false;  // of an interrupt or a signal: no part of what it came between
    // The call that it made last of those that have ended: its instructions, half-open.
    uint32_t callee = CallPath::kNoFunction;
    uint64_t callee_begin = 0;
    uint64_t callee_end = 0;
    // For a lock's outermost call: its entry, the begin of its first sleep and the end of its last
    // wait, where it had one.
    TimePoint entered;
    std::optional<TimePoint> slept;
    std::optional<TimePoint> waited;
  };
  // A wait to which something may yet be added.
  struct OpenWait {
    LockWait wait;
    std::string_view family;
    bool begun = false;
    bool waits = false;      // SpinStretch::waits, or it slept
    unsigned stretches = 0;  // that have not ended
    bool closed = false;     // nothing begins in it any more
    uint64_t last = 0;       // the position at which something of it began last
  };
  // Spinning or sleeping that begins.
  struct Item {
    uint64_t address = 0;  // of the loop or the system call
    uint64_t end = 0;      // the address after it
    const AddressSpace* space = nullptr;
    uint64_t position = 0;
    uint64_t quiet_since = 0;  // as Stop has them
    uint64_t last_atomic = 0;
    bool sleeps = false;
  };

  // Addresses: wait_instances.cc.
  void UseUpTo(uint64_t position);
  void OnUse(const AtomicUse& use);
  void NoteFirstUse(const AtomicUse& use, LockInstance& lock);
  void OnFirstUse(size_t depth, const AtomicUse& use);
  void GiveInstances(const AtomicUse& use);
  void GiveInstance(size_t depth, const AtomicUse& use);
  const AtomicUse* UseOf(size_t depth, const Item& item) const;
  void TellReleasing(Frame& frame, uint64_t address);

  TimePoint PointOf(const ExitTime& time) const;
  void BeginUpTo(uint64_t position);
  uint32_t WaitAt(const Item& item);
  size_t DepthOf(const Item& item) const;
  bool HasAtomic(const Frame& frame, uint64_t position) const;
  uint32_t SiteOf(size_t depth, const Item& item);
  void Extend(OpenWait& open, const TimePoint& begin, const TimePoint& end);
  void CloseWait(uint32_t number);
  void TellIfDone(uint32_t number);
  void PopTo(size_t depth);
  void PushFrame(const Call& call);
  static bool IsCalledBack(const Frame& frame);
  bool BelongsTo(const Frame& caller, const Frame& frame) const;
  bool IsSameFile(uint32_t a, uint32_t b) const;
  bool IsOutermost(size_t depth) const;
  void TellEntered(size_t depth, const Call& call);
  void TellReturned(size_t depth, const TimePoint& time);
  void TellReleased(Frame& frame, const TimePoint& time);
  void TellAcquired(size_t depth, const TimePoint& time, bool likely);
  void TellDoing(size_t depth, uint64_t tsc);
  void TellEnd(size_t depth);
  void NoteSleeps(size_t depth, const TimePoint& end);
  void NoteWaited(uint32_t wait, const TimePoint& begin, const TimePoint& end, bool sleeps);
  void Rebuild(const std::vector<Call>& calls);
  void Describe(const Call& call, Frame& frame);
  uint32_t NodeOf(size_t depth);
  bool IsWait(const UntracedGap& gap, const CallArguments& call) const;
  bool IsLong(const UntracedGap& gap) const;
  bool IsShort(const UntracedGap& gap) const;

  const WaitPlan& plan_;
  const uint32_t thread_;
  const TimeAccount* account_;
  const CallStack* stack_ = nullptr;
  std::vector<Frame> frames_;
  std::unordered_map<uint32_t, std::vector<Frame>> other_stacks_;
  std::optional<Frame> replaced_;  // the innermost call, whose place another one takes by a jump
  uint32_t on_ = 0;                // the stack that the thread is on
  std::deque<SpinStretch> to_begin_;
  std::deque<AtomicUse> to_use_;
  std::deque<AtomicUse> recent_;  // the last ones
  std::deque<Stop> stops_;
  TscInterval start_bounds_;
  std::unordered_map<uint32_t, uint32_t> wait_of_stretch_;
  std::unordered_map<uint32_t, OpenWait> open_;
  uint32_t next_wait_ = 1;
  bool began_anew_ = false;
  bool misses_calls_ = false;
  LockCalls calls_;
};

}  // namespace flowback
