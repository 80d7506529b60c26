// SPDX-License-Identifier: MIT
// counted_spins NAME: a thread spins for a lock that another one releases after a while, and writes
// how many of its checks failed. It executes a mark before and after. Without a name: lists them.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "loops.h"

static atomic_int word;
static atomic_int announced;
static atomic_uint serving;
static atomic_uint tickets;

static NOINLINE long SpinTestFirst(void) {
  long trips = 0;
  for (;;) {
    while (atomic_load_explicit(&word, memory_order_relaxed)) {
      Pause();
      ++trips;
    }
    if (!atomic_exchange_explicit(&word, 1, memory_order_acquire)) return trips;
  }
}

static NOINLINE long SpinExchange(void) {
  long trips = 0;
  while (atomic_exchange_explicit(&word, 1, memory_order_acquire)) ++trips;
  return trips;
}

static NOINLINE long SpinCompare(void) {
  long trips = 0;
  int expected = 0;
  while (!atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
    expected = 0;
    Pause();
    ++trips;
  }
  return trips;
}

static NOINLINE long SpinTicket(void) {
  long trips = 0;
  const unsigned mine = atomic_fetch_add(&tickets, 1) + 1;
  while (atomic_load_explicit(&serving, memory_order_acquire) != mine) ++trips;
  return trips;
}

// As Linux waits for a store by another processor.
static NOINLINE long SpinForEvent(void) {
  long trips = 0;
#if defined(__aarch64__)
  int value;
  __asm__ volatile("sevl");
  for (;;) {
    __asm__ volatile("wfe\n\tldaxr %w0, [%1]" : "=r"(value) : "r"(&word) : "memory");
    if (value == 0) return trips;
    ++trips;
  }
#else
  while (atomic_load_explicit(&word, memory_order_acquire)) ++trips;
  return trips;
#endif
}

static const struct Spin {
  const char* name;
  long (*run)(void);
} spins[] = {
    {"test_first", SpinTestFirst}, {"exchange", SpinExchange}, {"compare", SpinCompare},
    {"ticket", SpinTicket},        {"event", SpinForEvent},
};

static void* Release(void* unused) {
  const struct timespec moment = {0, 1000000}, pause = {0, 20000000};
  while (!atomic_load(&announced)) nanosleep(&moment, NULL);
  nanosleep(&pause, NULL);
  atomic_store(&serving, 1);
  atomic_store(&word, 0);
  return unused;
}

int main(int count, char** words) {
  for (size_t i = 0; i < sizeof spins / sizeof *spins; ++i) {
    if (count < 2) {
      puts(spins[i].name);
    } else if (strcmp(spins[i].name, words[1]) == 0) {
      pthread_t other;
      atomic_store(&word, 1);
      if (pthread_create(&other, NULL, Release, NULL) != 0) return 1;
      atomic_store(&announced, 1);
      Mark();
      const long trips = spins[i].run();
      Mark();
      printf("trips %ld\n", trips);
      return pthread_join(other, NULL);
    }
  }
  return count < 2 ? 0 : 1;
}
