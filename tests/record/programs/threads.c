// SPDX-License-Identifier: MIT
// Three threads; the last one alive is not the first.
#include "freestanding.h"

enum { kStackSize = 16384 };

static volatile int ready;
static char stacks[2][kStackSize] __attribute__((aligned(16)));

__attribute__((noreturn)) static void Work(long which) {
  (void)which;
  for (volatile int i = 0; i < 20; ++i) {
  }
  __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
  SystemCall6(kFutex, (long)&ready, 1, 2, 0, 0, 0);  // wake
  SleepMilliseconds(20);
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

long Main(long* stack) {
  (void)stack;
  for (long which = 0; which < 2; ++which)
    StartThread(Work, stacks[which] + kStackSize, which, 0);
  for (int seen = ready; seen != 2; seen = ready)
    SystemCall6(kFutex, (long)&ready, 0, seen, 0, 0, 0);  // wait
  // Only this thread ends; the process lives until the others do.
  SystemCall(kExit, 0, 0, 0);
  return 1;
}
