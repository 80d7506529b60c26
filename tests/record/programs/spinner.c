// SPDX-License-Identifier: MIT
// Runs until its standard input ends, then ends with status 9: the first thread waits for that, the
// second one computes, the third one sleeps and forks. Writes a byte when all run.
#include "freestanding.h"

enum { kStackSize = 16384 };

static volatile int running;
static volatile long sum;
static char stacks[2][kStackSize] __attribute__((aligned(16)));

__attribute__((noinline)) static void Add(long value) { sum += value; }

__attribute__((noinline)) static void Compute(void) {
  __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
  for (long i = 0;; ++i)
    if (i & 1) Add(i);
}

__attribute__((noinline)) static void SleepAndFork(void) {
  __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    const long child = SystemCall(kFork, 0, 0, 0);
    if (child == 0) {
      Add(7);
      Exit(0);
    }
    SystemCall6(kWait4, child, 0, 0, 0, 0, 0);
    SleepMilliseconds(5);
  }
}

__attribute__((noreturn)) static void Work(long which) {
  which ? Compute() : SleepAndFork();
  __builtin_unreachable();
}

long Main(long* stack) {
  (void)stack;
  char byte;
  for (long which = 0; which < 2; ++which)
    StartThread(Work, stacks[which] + kStackSize, which, 0);
  while (running != 2) SleepMilliseconds(1);
  SystemCall(kWrite, 1, (long)"x", 1);
  while (SystemCall(kRead, 0, (long)&byte, 1) > 0) {
  }
  return 9;
}
