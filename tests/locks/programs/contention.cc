// SPDX-License-Identifier: MIT
#include "contention.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// The linker's name for the program's first byte.
extern "C" char __executable_start;

namespace contention {

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

APART void Delay(int times) {
  for (volatile int i = 0; i < times;) {
    i = i + 1;
  }
}

void Tally::Add(Wait wait, bool waited, uint64_t before, uint64_t released, uint64_t after,
                uint64_t asleep_since) {
  ++acquisitions;
  trips += wait.trips;
  sleeps += wait.sleeps;
  if (waited) {
    ++waits;
    at_most_ns += after - before;
    at_least_ns += asleep_since > 0 && released > asleep_since ? released - asleep_since : 0;
    longest_ns = std::max(longest_ns, after - before);
  }
}

bool IsAsleep(int tid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    std::perror(path);
    std::exit(3);
  }
  char text[64] = {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  unsigned long number = 0;
  unsigned long address = 0;
  if (size <= 0 || std::sscanf(text, "%lu %lx", &number, &address) != 2) {
    return false;
  }
  // Libraries, and an emulator, have locks of their own.
  return number == SYS_futex && address >= reinterpret_cast<unsigned long>(&__executable_start) &&
         address < reinterpret_cast<unsigned long>(sbrk(0));
}

// Waits until the worker is no longer between two rounds.
APART Wait await_announced(Worker& other) {
  long trips = 0;
  while (other.state.load(std::memory_order_acquire) == State::kElsewhere) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait await_at_least(const std::atomic<long>& counter, long value) {
  long trips = 0;
  while (counter.load(std::memory_order_acquire) < value) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait await_taken(const Team& team, long taken) {
  long trips = 0;
  while (team.taken.load(std::memory_order_acquire) == taken &&
         team.unfinished.load(std::memory_order_acquire) > 1) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

namespace {

void AwaitAnnounced(Worker& me, Worker& other) {
  const uint64_t before = Now();
  const Wait wait = await_announced(other);
  const uint64_t after = Now();
  me.announcements.Add(wait, wait.trips > 0, before, before, after);
}

bool SeesAsleep(Worker& other) {
  if (other.asleep_since == 0 && IsAsleep(other.tid.load(std::memory_order_relaxed))) {
    other.asleep_since = Now();
  }
  return other.asleep_since > 0;
}

}  // namespace

void AwaitAnnounced(Worker& me) {
  for (const auto& other : me.team->workers) {
    if (other.get() != &me) {
      AwaitAnnounced(me, *other);
    }
  }
}

void AwaitAsleep(Worker& me) {
  for (const auto& other : me.team->workers) {
    if (other.get() == &me) {
      continue;
    }
    AwaitAnnounced(me, *other);
    while (other->state.load(std::memory_order_acquire) == State::kAnnounced &&
           !SeesAsleep(*other)) {
      usleep(100);
    }
  }
}

void AwaitAtLeast(Worker& me, const std::atomic<long>& counter, long value) {
  const uint64_t before = Now();
  const Wait wait = await_at_least(counter, value);
  const uint64_t after = Now();
  me.rounds_of_others.Add(wait, wait.trips > 0, before, before, after);
}

void AwaitRoundAsleep(Worker& me, long round) {
  for (const auto& other : me.team->workers) {
    if (other.get() == &me) {
      continue;
    }
    AwaitAtLeast(me, other->round, round);
    while (!SeesAsleep(*other)) {
      usleep(100);
    }
  }
}

void AwaitTaken(Worker& me, long taken) {
  const uint64_t before = Now();
  const Wait wait = await_taken(*me.team, taken);
  const uint64_t after = Now();
  me.handing_over.Add(wait, wait.trips > 0, before, before, after);
}

void MutualExclusion(Worker& me, const Lock& lock) {
  for (long round = 0; round < me.rounds; ++round) {
    me.Announce();
    const uint64_t before = Now();
    const Wait wait = lock.acquire(me);
    const uint64_t after = Now();
    me.Acquired();
    me.lock.Add(wait, lock.sleeps ? me.asleep_since > 0 : wait.trips > 0, before, me.team->released,
                after, me.asleep_since);
    me.asleep_since = 0;
    if (lock.sleeps) {
      AwaitAsleep(me);
    } else {
      AwaitAnnounced(me);
    }
    Delay(2000);
    const long taken = me.team->taken.load(std::memory_order_relaxed);
    me.team->released = Now();
    const Wait release = lock.release(me);
    if (release.trips > 0) {
      me.unlock.Add(release, true, 0, 0, 0);
    }
    AwaitTaken(me, taken);
  }
}

}  // namespace contention
