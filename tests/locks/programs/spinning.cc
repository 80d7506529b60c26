// SPDX-License-Identifier: MIT
// Locks that spin: every loop counts its failed checks in a register.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "contention.h"

namespace contention {
namespace {

std::atomic<int> word{0};
std::atomic<long> bits{0};

void Reset(int, long) {
  word.store(0);
  bits.store(0);
}

bool TestAndSet() { return word.exchange(1, std::memory_order_acquire) != 0; }

bool CompareAndSet(int from, int to) {
  return word.compare_exchange_strong(from, to, std::memory_order_acquire);
}

// Test, and test-and-set: the loop that every spinlock of a book is.
[[gnu::always_inline]] inline Wait TestTestAndSet() {
  long trips = 0;
  while (TestAndSet()) {
    ++trips;
    while (word.load(std::memory_order_relaxed) != 0) {
      Pause();
      ++trips;
    }
  }
  return {.trips = trips};
}

[[gnu::always_inline]] inline Wait CompareUntilSet() {
  long trips = 0;
  while (!CompareAndSet(0, 1)) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

}  // namespace

APART Wait lock_ttas(Worker&) { return TestTestAndSet(); }

// The same without PAUSE.
APART Wait lock_ttas_bare(Worker&) {
  long trips = 0;
  while (TestAndSet()) {
    ++trips;
    while (word.load(std::memory_order_relaxed) != 0) {
      ++trips;
    }
  }
  return {.trips = trips};
}

APART Wait lock_xchg(Worker&) {
  long trips = 0;
  while (TestAndSet()) {
    ++trips;
  }
  return {.trips = trips};
}

APART Wait lock_xchg_pause(Worker&) {
  long trips = 0;
  while (TestAndSet()) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait lock_cas(Worker&) { return CompareUntilSet(); }

APART Wait lock_cas_bare(Worker&) {
  long trips = 0;
  while (!CompareAndSet(0, 1)) {
    ++trips;
  }
  return {.trips = trips};
}

// One bit of a word: LOCK BTS.
APART Wait lock_bit(Worker&) {
  long trips = 0;
  while ((bits.fetch_or(1L << 40, std::memory_order_acquire) & 1L << 40) != 0) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait unlock_bit(Worker&) {
  bits.fetch_and(~(1L << 40), std::memory_order_release);
  return {};
}

// Gives its CPU away after each failed check.
APART Wait lock_yield(Worker&) {
  long trips = 0;
  while (TestAndSet()) {
    syscall(SYS_sched_yield);
    ++trips;
  }
  return {.trips = trips};
}

APART Wait unlock_word(Worker&) {
  word.store(0, std::memory_order_release);
  return {};
}

// Spins for a while, then sleeps: 0 is free, 1 taken, 2 taken and somebody may sleep.
APART Wait lock_spin_futex(Worker&) {
  long trips = 0;
  for (; trips < 50; ++trips) {
    if (CompareAndSet(0, 1)) {
      return {.trips = trips};
    }
    Pause();
  }
  long sleeps = 0;
  while (word.exchange(2, std::memory_order_acquire) != 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr);
    ++sleeps;
  }
  return {.trips = trips, .sleeps = sleeps};
}

// Never spins.
APART Wait lock_futex(Worker&) {
  if (CompareAndSet(0, 1)) {
    return {};
  }
  long sleeps = 0;
  while (word.exchange(2, std::memory_order_acquire) != 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr);
    ++sleeps;
  }
  return {.sleeps = sleeps};
}

APART Wait unlock_futex(Worker&) {
  if (word.exchange(0, std::memory_order_release) == 2) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  }
  return {};
}

// Rounds with the lock's code inlined into them.
template <Wait (*kAcquire)()>
[[gnu::always_inline]] inline void InlinedRounds(Worker& me) {
  for (long round = 0; round < me.rounds; ++round) {
    me.Announce();
    const uint64_t before = Now();
    const Wait wait = kAcquire();
    const uint64_t after = Now();
    me.Acquired();
    me.lock.Add(wait, wait.trips > 0, before, me.team->released, after);
    AwaitAnnounced(me);
    Delay(2000);
    const long taken = me.team->taken.load(std::memory_order_relaxed);
    me.team->released = Now();
    word.store(0, std::memory_order_release);
    AwaitTaken(me, taken);
  }
}

APART void rounds_of_ttas(Worker& me, const Lock&) { InlinedRounds<TestTestAndSet>(me); }
APART void rounds_of_cas(Worker& me, const Lock&) { InlinedRounds<CompareUntilSet>(me); }

std::span<const Lock> SpinningLocks() {
  static const Lock locks[] = {
      {"ttas", "lock_ttas", nullptr, false, MutualExclusion, lock_ttas, unlock_word, Reset},
      {"ttas-bare", "lock_ttas_bare", nullptr, false, MutualExclusion, lock_ttas_bare, unlock_word,
       Reset},
      {"ttas-inlined", "rounds_of_ttas", nullptr, false, rounds_of_ttas, nullptr, nullptr, Reset},
      {"xchg", "lock_xchg", nullptr, false, MutualExclusion, lock_xchg, unlock_word, Reset},
      {"xchg-pause", "lock_xchg_pause", nullptr, false, MutualExclusion, lock_xchg_pause,
       unlock_word, Reset},
      {"cas", "lock_cas", nullptr, false, MutualExclusion, lock_cas, unlock_word, Reset},
      {"cas-bare", "lock_cas_bare", nullptr, false, MutualExclusion, lock_cas_bare, unlock_word,
       Reset},
      {"cas-inlined", "rounds_of_cas", nullptr, false, rounds_of_cas, nullptr, nullptr, Reset},
      {"bit", "lock_bit", nullptr, false, MutualExclusion, lock_bit, unlock_bit, Reset},
      {"yield", "lock_yield", nullptr, false, MutualExclusion, lock_yield, unlock_word, Reset},
      {"spin-futex", "lock_spin_futex", nullptr, true, MutualExclusion, lock_spin_futex,
       unlock_futex, Reset},
      {"futex", "lock_futex", nullptr, true, MutualExclusion, lock_futex, unlock_futex, Reset},
  };
  return locks;
}

}  // namespace contention
