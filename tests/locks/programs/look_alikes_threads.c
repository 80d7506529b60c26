// SPDX-License-Identifier: MIT
// Look-alikes that do what threads do with each other, but wait for none: flags, atomic operations,
// delays, rings, files.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "look_alikes.h"

// Slots that other threads may claim as well.
static _Atomic uint64_t claimed[kSlots];
static NOINLINE size_t Claim(uint64_t key) {
  size_t at = key % kSlots;
  for (;;) {
    uint64_t expected = 0;
    if (atomic_compare_exchange_strong(&claimed[at], &expected, key)) return at;
    at = (at + 1) % kSlots;
  }
}
static void HashClaim(void) {
  for (size_t i = 0; i < 60; ++i) sink = Claim(5);
}

static volatile bool done;
static atomic_bool done_atomic;
static uint64_t work_done;
static NOINLINE void DoWork(void) {
  if (++work_done > 100) done = true;
  if (work_done > 200) done_atomic = true;
}
static void WorkUntilDone(void) {
  while (!done) DoWork();
}
static void WorkUntilDoneAtomic(void) {
  while (!atomic_load_explicit(&done_atomic, memory_order_acquire)) DoWork();
}

static NOINLINE uint64_t Mix(uint64_t x) { return (x ^ x >> 31) * 0x9e3779b97f4a7c15; }
static void WorkInRegisters(void) {  // what it works out is in a register when the flag is set
  static volatile bool stop;
  uint64_t x = 1;
  for (int i = 0; !stop; ++i) {
    x = Mix(x);
    if (i > 60) break;
  }
  sink = x;
}

static atomic_size_t next_part;
static void WorkDistribution(void) {
  uint64_t sum = 0;
  size_t i = 0;
  while ((i = atomic_fetch_add(&next_part, 1)) < kSlots) sum += table[i];
  sink = sum;
}

static NOINLINE void UsePart(size_t i) { sink = i; }
static void DistributionCalls(void) {
  for (;;) {
    const size_t i = atomic_fetch_add(&next_part, 1);
    if (i > 600) break;
    UsePart(i);
  }
}

static void CountDown(void) {
  static atomic_int left = 100;
  while (atomic_fetch_sub(&left, 1) > 1) {
  }
}

static void CountDownPause(void) {
  static atomic_int left = 100;
  while (atomic_fetch_sub(&left, 1) > 1) Pause();
}

static struct Item* _Atomic pushed;
static void PopAll(void) {
  uint64_t sum = 0;
  for (int round = 0; round < 10; ++round) {
    LinkItems();
    atomic_store(&pushed, &items[80]);
    struct Item* at = NULL;
    while ((at = atomic_exchange(&pushed, NULL)) != NULL)
      for (; at != NULL; at = at->next) sum += (uint64_t)at->key;
  }
  sink = sum;
}

static void CompareExchangeAtOnce(void) {
  static atomic_int count;
  for (int i = 0; i < 50; ++i) {
    int value = atomic_load(&count);
    while (!atomic_compare_exchange_weak(&count, &value, value + 1)) {
    }
  }
}

static void LockUncontended(void) {
  static atomic_int lock;
  static volatile int guarded;
  for (int i = 0; i < 50; ++i) {
    while (atomic_exchange_explicit(&lock, 1, memory_order_acquire)) Pause();
    guarded = guarded + 1;
    atomic_store_explicit(&lock, 0, memory_order_release);
  }
}

static void PushUncontended(void) {
  static struct Item* _Atomic top;
  for (size_t i = 0; i < 50; ++i) {
    items[i].next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &items[i].next, &items[i])) {
    }
  }
}

static void PopUncontended(void) {
  static struct Item* _Atomic top;
  LinkItems();
  atomic_store(&top, items);
  struct Item* at = atomic_load(&top);
  while (at != NULL) {
    if (atomic_compare_exchange_weak(&top, &at, at->next)) at = atomic_load(&top);
  }
}

static void DelayByTsc(void) {
  const uint64_t begin = Ticks();
  while (Ticks() - begin < 20000000) Pause();
}

static volatile uint64_t ticks_of_delay = 20000000;
static void DelayByTscOfMemory(void) {
  const uint64_t begin = Ticks();
  while (Ticks() - begin < ticks_of_delay) Pause();
}

static void DelayByClock(void) {
  struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000000);
}

static void DelayByCounter(void) {
  for (volatile int i = 0; i < 100; ++i) Pause();
}

static volatile int delay_loops = 100;
static void DelayByCounterOfMemory(void) {
  for (int i = 0; i < delay_loops; ++i) Pause();
}

struct Ring {
  volatile uint32_t head;
  volatile uint32_t tail;
  struct {
    volatile uint32_t done;
    uint32_t value;
  } entries[64];
};
static struct Ring ring;

static NOINLINE uint64_t PollRing(struct Ring* of) {  // as a network driver polls its descriptors
  uint64_t sum = 0;
  uint32_t at = 0;
  while (of->entries[at & 63].done != 0) {
    sum += of->entries[at & 63].value;
    ++at;
  }
  return sum;
}
static void RingPolled(void) {
  for (int i = 0; i < 60; ++i) ring.entries[i].done = 1;
  sink = PollRing(&ring);
}

static void RingConsumed(void) {
  ring.head = 50;
  ring.tail = 0;
  uint64_t sum = 0;
  while (ring.tail != ring.head) {
    sum += ring.entries[ring.tail & 63].value;
    ring.tail = ring.tail + 1;
  }
  sink = sum;
}

static void ReadUntilEmpty(void) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return;
  char byte = 'x';
  for (int i = 0; i < 10; ++i) sink += (uint64_t)write(ends[1], &byte, 1);
  while (read(ends[0], &byte, 1) == 1) {
  }
  sink += (uint64_t)errno;
}

static void PollWithoutTime(void) {
  int ends[2];
  if (pipe(ends) != 0) return;
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  for (int i = 0; i < 10 && poll(&one, 1, 0) == 0; ++i) Pause();
}

static void ConfiguredCount(void) {  // asks a setting with each round
  static volatile int verbose;
  static volatile int count = 60;
  uint64_t sum = 1;
  for (int i = 0; i < count; ++i) {
    if (verbose) DoWork();
    sum = sum * 31 + (uint64_t)i;
  }
  sink = sum;
}

atomic_int references = 1;
static void ReferenceCounts(void) {
  for (int i = 0; i < 40; ++i) {
    atomic_fetch_add_explicit(&references, 1, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&references, 1, memory_order_acq_rel) == 1) break;
  }
}

atomic_int progress_made;
atomic_bool progress_stops;
static void SequentialStores(void) {
  for (int i = 0; i < 40 && !atomic_load(&progress_stops); ++i) atomic_store(&progress_made, i);
}

atomic_uint free_sequence;
uint64_t guarded_pair[2];
static void SeqlockUncontended(void) {
  uint64_t sum = 0;
  for (int i = 0; i < 40; ++i) {
    unsigned begin = 0;
    do {
      begin = atomic_load_explicit(&free_sequence, memory_order_acquire);
      sum += guarded_pair[0] + guarded_pair[1];
      atomic_thread_fence(memory_order_acquire);
    } while ((begin & 1) != 0 ||
             begin != atomic_load_explicit(&free_sequence, memory_order_relaxed));
  }
  sink = sum;
}

const struct Loop threads_look_alikes[] = {
    {"hash_claim", HashClaim},
    {"work_until_done", WorkUntilDone},
    {"work_until_done_atomic", WorkUntilDoneAtomic},
    {"work_in_registers", WorkInRegisters},
    {"work_distribution", WorkDistribution},
    {"distribution_calls", DistributionCalls},
    {"count_down", CountDown},
    {"count_down_pause", CountDownPause},
    {"pop_all", PopAll},
    {"compare_exchange_at_once", CompareExchangeAtOnce},
    {"lock_uncontended", LockUncontended},
    {"push_uncontended", PushUncontended},
    {"pop_uncontended", PopUncontended},
    {"delay_by_tsc", DelayByTsc},
    {"delay_by_tsc_of_memory", DelayByTscOfMemory},
    {"delay_by_clock", DelayByClock},
    {"delay_by_counter", DelayByCounter},
    {"delay_by_counter_of_memory", DelayByCounterOfMemory},
    {"ring_polled", RingPolled},
    {"ring_consumed", RingConsumed},
    {"read_until_empty", ReadUntilEmpty},
    {"poll_without_time", PollWithoutTime},
    {"configured_count", ConfiguredCount},
    {"reference_counts", ReferenceCounts},
    {"sequential_stores", SequentialStores},
    {"seqlock_uncontended", SeqlockUncontended},
    {NULL, NULL},
};
