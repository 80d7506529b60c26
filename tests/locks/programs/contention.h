// SPDX-License-Identifier: MIT
// What the programs with forced contention share: threads that count their own waits.
//
// A lock's function returns how many of its checks failed. It counts them in registers, so that
// counting adds no store to the loop. A thread that holds a lock keeps it until every other thread
// that still has rounds to do has announced itself, or sleeps in the kernel. So every run has
// waits, on any machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#define APART [[gnu::noinline, gnu::noclone]]

namespace contention {

// The record of one call that acquires a lock. Fits into two registers.
struct Wait {
  long trips = 0;   // checks that failed
  long sleeps = 0;  // calls of futex(FUTEX_WAIT), where the program itself makes them
};

// What a thread did at one site.
struct Tally {
  const char* function = nullptr;
  long acquisitions = 0;
  long waits = 0;
  long trips = 0;
  long sleeps = 0;
  uint64_t at_most_ns = 0;   // by clocks read before and after the calls that waited
  uint64_t at_least_ns = 0;  // from being seen asleep to the release by another thread
  uint64_t longest_ns = 0;   // of at_most_ns

  // `asleep_since`: when another thread saw that this one slept; 0: it does not know.
  void Add(Wait wait, bool waited, uint64_t before, uint64_t released, uint64_t after,
           uint64_t asleep_since = 0);
};

enum class State : int {
  kElsewhere,  // between two rounds, or holding the lock
  kAnnounced,  // about to acquire the lock
  kFinished,
};

struct Team;

struct alignas(64) Worker {
  std::atomic<State> state{State::kElsewhere};
  std::atomic<long> round{-1};  // that it has announced last, where all take part in each
  std::atomic<int> tid{0};
  int number = 0;
  long rounds = 0;
  Team* team = nullptr;
  Tally lock;              // at the lock that is tried
  Tally unlock;            // at the function that releases it, where that can wait
  Tally announcements;     // in await_announced
  Tally rounds_of_others;  // in await_at_least
  Tally handing_over;      // in await_taken
  // When the thread that held the lock saw this one asleep, in the wait under way; 0: not yet.
  uint64_t asleep_since = 0;

  void Announce() { state.store(State::kAnnounced, std::memory_order_release); }
  inline void Acquired();
};

struct Lock {
  const char* name;
  const char* function;   // that acquires
  const char* releasing;  // that releases
  bool sleeps;            // threads wait in futex
  // What a thread does; MutualExclusion uses the other two functions.
  void (*run)(Worker&, const Lock&);
  Wait (*acquire)(Worker&) = nullptr;
  Wait (*release)(Worker&) = nullptr;
  // Before the threads begin.
  void (*prepare)(int threads, long rounds) = nullptr;
  // The program knows how often threads waited, how many checks failed.
  bool knows_waits = true;
  bool knows_trips = true;
};

// The threads that fight for one lock.
struct Team {
  std::vector<std::unique_ptr<Worker>> workers;
  alignas(64) std::atomic<long> taken{0};  // how often the lock was acquired
  std::atomic<int> unfinished{0};          // threads
  uint64_t released = 0;  // when the lock was released last; belongs to who holds it
};

inline void Worker::Acquired() {
  team->taken.fetch_add(1, std::memory_order_relaxed);
  state.store(State::kElsewhere, std::memory_order_release);
}

uint64_t Now();
// Work of some microseconds that no other thread sees.
void Delay(int times);

// Whether the thread sleeps in futex for a word in the program's data or heap, as the kernel tells.
bool IsAsleep(int tid);

// Waits, spinning, until all others have announced themselves or finished.
void AwaitAnnounced(Worker& me);
// The same, and until they sleep in futex.
void AwaitAsleep(Worker& me);
// Waits, spinning, until the counter has reached the value.
void AwaitAtLeast(Worker& me, const std::atomic<long>& counter, long value);
// Waits until all others have announced themselves for that round, and sleep in futex.
void AwaitRoundAsleep(Worker& me, long round);
// Waits, spinning, until the lock has been acquired more often than `taken` times, or all others
// have finished.
void AwaitTaken(Worker& me, long taken);

// One round of a thread that the first thread lets through. `waits` is the call that waits.
template <typename Waits>
void WaitInRound(Worker& me, long round, Waits waits) {
  me.round.store(round, std::memory_order_release);
  const uint64_t before = Now();
  waits();
  const uint64_t after = Now();
  me.lock.Add({}, me.asleep_since > 0, before, me.team->released, after, me.asleep_since);
  me.asleep_since = 0;
}

// Rounds in which the first thread posts as many tokens as there are other threads, once these all
// sleep. No thread takes the token of another one in the next round already.
template <typename Waits, typename Posts>
void TokenRounds(Worker& me, Waits waits, Posts posts) {
  const auto others = static_cast<long>(me.team->workers.size()) - 1;
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      AwaitAtLeast(me, me.team->workers.front()->round, round);
      WaitInRound(me, round, waits);
      me.Acquired();
      continue;
    }
    AwaitAtLeast(me, me.team->taken, others * round);
    me.round.store(round, std::memory_order_release);
    AwaitRoundAsleep(me, round);
    me.team->released = Now();
    posts(others);
  }
}

// Rounds of acquiring, keeping until all others wait, and releasing.
void MutualExclusion(Worker& me, const Lock& lock);

std::span<const Lock> SpinningLocks();
std::span<const Lock> QueueLocks();
std::span<const Lock> PosixLocks();
std::span<const Lock> OtherLocks();
std::span<const Lock> StandardLocks();

inline void Pause() { __builtin_ia32_pause(); }

}  // namespace contention
