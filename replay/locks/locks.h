// SPDX-License-Identifier: MIT
// Where threads waited for each other, spinning and sleeping, and for whom.
//
//   Result<LockReport> report = FindLocks(sources, flows, options, nullptr);
//
// All times are in the unit of the RecordingClock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"
#include "flowback/replay/timeline.h"
#include "replay/locks/loops/trip.h"
#include "replay/locks/wait_shares.h"
#include "replay/spikes/instances/path_tree.h"
#include "replay/threads/time_slot.h"
#include "replay/timeline/thread_times.h"

namespace flowback {

// A place at which threads wait.
struct LockSite {
  // The outermost function that belongs to the lock: pthread_mutex_lock, spin_lock. Where the code
  // of a lock was inlined into other code, the function that has it.
  uint32_t function = CallPath::kNoFunction;  // in LockReport::functions
  const AddressSpace* space = nullptr;
  uint64_t address =
      0;              // of the loop's first instruction, or of the system call: of the first wait
  uint64_t end = 0;   // after the last instruction of the same loop or call
  uint64_t call = 0;  // of the instruction that called `function`; 0: not seen
  uint32_t caller = CallPath::kNoFunction;  // the function that has `call`
  // It waits for something to happen, as for a signal, a thread's end or work: nothing is held.
  bool is_event = false;
  bool is_library = false;  // `function` is known as one that acquires (lock_functions.def)
};

// How much of a wait was seen.
enum class WaitState : uint8_t {
  kWhole,
  kBegunBefore,  // it was under way when the thread's flow began, or went on after a loss
  kCutByEnd,     // it was under way when the thread's flow ended
  kLost,         // the trace lost what came next
};
inline constexpr size_t kWaitStates = 4;

// One wait: from the first check that found the lock taken to the moment in which it was free, or
// in which the thread gave up.
struct LockWait {
  uint32_t site = 0;    // in LockReport::sites
  uint32_t thread = 0;  // the thread's number in the list that is played
  WaitState state = WaitState::kWhole;
  TimePoint begin;
  TimePoint end;
  uint64_t position = 0;            // the number of the thread's instructions before its begin
  uint64_t trips = 0;               // how often the loops went round
  uint64_t sleeps = 0;              // system calls in which it waited
  uint64_t sleeping = 0;            // time in these; the rest is spinning
  uint64_t cycles = 0;              // as CYC packets count them; 0: none did
  uint32_t path = PathTree::kRoot;  // of the calls that it is in; in LockReport::paths
  // The thread that held the site for most of the wait; kNoThread: none is known.
  uint32_t holder = kNoThread;
  bool is_certain = false;  // no other thread can have held it, for 99 % of its time at least
  uint32_t instance = kNoInstance;  // the lock, in LockReport::instances
  uint64_t address = 0;             // the same one's

  static constexpr uint32_t kNoThread = UINT32_MAX;
  static constexpr uint32_t kNoInstance = UINT32_MAX;

  uint64_t time() const { return end.time - begin.time; }
  uint64_t spinning() const { return time() - sleeping; }
};

// What waits at one site add up to.
struct LockSums {
  uint32_t site = 0;
  uint32_t thread = LockWait::kNoThread;      // kNoThread: of all threads
  uint32_t path = PathTree::kRoot;            // of LockReport::path_sums
  uint32_t instance = LockWait::kNoInstance;  // of LockReport::instance_sums
  std::optional<uint64_t> acquisitions;       // calls of a function that acquires
  uint64_t waits = 0;
  uint64_t trips = 0;
  uint64_t sleeps = 0;
  TimeShare waiting;      // the trace proves lo <= time <= hi
  uint64_t sleeping = 0;  // of waiting.time; the rest is spinning
  uint64_t cycles = 0;
  // Quantiles of whole waits; right to a thirty-second of their value.
  uint64_t median = 0;
  uint64_t p90 = 0;
  uint64_t p99 = 0;
  uint64_t max = 0;
  std::array<uint64_t, kWaitStates> states{};
};

// A thread that may have held what others waited for at a site.
struct LockHolder {
  uint32_t site = 0;
  uint32_t thread = 0;
  uint64_t waits = 0;    // of other threads, in which it was between acquiring and releasing
  uint64_t time = 0;     // of these
  uint64_t certain = 0;  // of `time`: no other thread was
  // Its activity in that time: the innermost call that it was in for at least half of it.
  uint32_t path = PathTree::kRoot;
  uint64_t waiting = 0;         // of `time`: it waited itself
  uint32_t waits_at = kNoSite;  // the site at which it did so longest
  uint64_t off_cpu = 0;         // of `time`: it was off the CPU for another reason than such a wait
  uint64_t preempted = 0;  // of `off_cpu`: it could have gone on, and another thread ran instead
  // The most threads that waited for it at once while it waited itself or was off the CPU.
  uint32_t convoy = 0;

  static constexpr uint32_t kNoSite = UINT32_MAX;
};

// A lock by the address of its data, where the recording has that: of the first atomic operation
// within a call that acquires it, or within a loop that waits for it, or of the futex.
struct LockInstance {
  int32_t pid = -1;
  uint64_t address = 0;
  bool is_event = false;          // LockSite::is_event, of all its sites
  std::vector<uint32_t> threads;  // that executed an atomic operation on it
  // The first of these operations.
  uint64_t time = 0;
  uint32_t thread = 0;
  const AddressSpace* space = nullptr;
  uint64_t ip = 0;
  uint64_t call = 0;  // of the lock's outermost function; 0: no function belongs to it
  uint32_t path = PathTree::kRoot;  // of the calls that it was in
  // The place of the lock by the tables of the mapped file.
  std::string file;    // empty: memory of no file, as the heap and stacks
  uint64_t place = 0;  // in the file, as it is linked
  std::string symbol;  // empty: not known
  uint64_t symbol_offset = 0;
};

// A stretch of a thread's time: how much of it the thread waited.
struct LockColumn {
  uint64_t spinning = 0;
  uint64_t sleeping = 0;
};

struct LockThread {
  int32_t pid = -1;
  int32_t tid = -1;
  uint64_t begin = 0;  // its life
  uint64_t end = 0;
  uint64_t spinning = 0;
  uint64_t sleeping = 0;
  uint64_t instructions = 0;
  std::vector<LockColumn> strip;  // from LockReport::begin on, all of one length
  ThreadWaits waits;              // where LockOptions::shares asks

  uint64_t life() const { return end - begin; }
};

// Threads that wait for each other, and will for ever.
struct LockCycle {
  // Indexes in LockReport::open: each one's thread waits for the next one's thread, the last for
  // the first.
  std::vector<uint32_t> waits;
};

// A loop that looks like a wait and is not reported as one.
struct OtherLoop {
  const AddressSpace* space = nullptr;
  uint64_t address = 0;                       // of its first instruction
  uint32_t function = CallPath::kNoFunction;  // that has it
  uint64_t trips = 0;
  TripVerdict verdict;
  // It is a wait by its code, but its process has no other thread.
  bool alone = false;
};

struct LockReport {
  bool nanoseconds = true;  // else times are TSC ticks
  bool has_times = true;
  bool emulated = false;
  uint64_t begin = 0;  // the first thread's begin and the last one's end, cut to the span
  uint64_t end = 0;
  std::vector<TimelineFunction> functions;
  std::vector<LockThread> threads;  // in the order of the flows
  std::vector<LockSite> sites;
  std::vector<LockSums> site_sums;  // of each site, by its number
  std::vector<LockSums> sums;       // by site and thread: by waiting time, most first; without
                                    // times by trips
  std::vector<LockSums> path_sums;  // by site and path, if LockOptions::paths is set
  // Where the recording has addresses (record --locks).
  bool has_addresses = false;
  std::vector<LockInstance> instances;
  std::vector<LockSums> instance_sums;              // by site and lock
  std::vector<std::vector<uint32_t>> shared_lines;  // SharedLines
  std::vector<LockHolder> holders;                  // by site, then by time, most first
  std::vector<LockWait> worst;                      // the longest, the longest first
  std::vector<LockWait> open;     // that did not end: of kCutByEnd, one of each thread at most
  std::vector<LockCycle> cycles;  // deadlocks
  std::vector<OtherLoop> loops;   // by trips, most first
  PathTree paths;
  std::vector<LossSum> losses;
};

// Where parts of the flow are passed over in which nothing can be a wait. The report is the same.
enum class PassOver : uint8_t {
  kNever,
  kWhereFaster,
  kAlways,   // where it can be done at all; for tests
  kByLeaps,  // the same, but the calls of no thread are left alone
};

struct LockOptions {
  unsigned threads = 1;   // that decode
  size_t in_flight = 0;   // as PlayOptions
  TimeSpan span{};        // only waits that begin within it count
  bool paths = false;     // LockReport::path_sums
  bool blocking = false;  // poll, read and other blocking calls are waits too
  size_t worst = 100;     // the number of waits that are listed one by one
  size_t columns = 0;     // of the threads' strips; 0: no strips are made
  WaitShareOptions shares{};
  PassOver pass_over = PassOver::kWhereFaster;
  uint64_t segment_bytes = 0;  // of these parts, in bytes of trace; 0: as is useful
  // If not null: gets how many parts were passed over.
  uint64_t* passed_over = nullptr;
};

// `times`: the threads' times, with spans, where they are known; null: they are learned on the way.
// Errors: as those of AccountTimes and Player::Play.
Result<LockReport> FindLocks(const TimelineSources& sources,
                             const std::vector<const ThreadFlow*>& flows,
                             const LockOptions& options, const TimeAccounts* times);

}  // namespace flowback
