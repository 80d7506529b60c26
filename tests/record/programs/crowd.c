// SPDX-License-Identifier: MIT
// Four threads that fork all the time; the first one becomes another program (this one, with an
// argument) meanwhile. Ends with status 3.
#include "freestanding.h"

enum { kThreads = 4, kStackSize = 4096 };

static char stacks[kThreads][kStackSize] __attribute__((aligned(16)));
static volatile int forked;

__attribute__((noreturn)) static void ForkAllTheTime(long which) {
  (void)which;
  for (;;) {
    if (SystemCall(kFork, 0, 0, 0) == 0) {
      SystemCall(kGetpid, 0, 0, 0);
      Exit(0);
    }
    __atomic_fetch_add(&forked, 1, __ATOMIC_SEQ_CST);
  }
}

long Main(long* stack) {
  char* const self = ((char**)(stack + 1))[0];
  const char* const arguments[] = {self, "again", 0};
  const char* const environment[] = {0};
  if (stack[0] > 1) return 3;
  for (long i = 0; i < kThreads; ++i) StartThread(ForkAllTheTime, stacks[i] + kStackSize, i, 0);
  while (forked < 2 * kThreads) SleepMilliseconds(1);
  SystemCall(kExecve, (long)self, (long)arguments, (long)environment);
  return 4;
}
