// SPDX-License-Identifier: MIT
// A thread that does not sleep while it waits for the other. Both run before whoever steps them
// (SCHED_FIFO), so that a step is done before its tracer comes to wait for it. Ends with 0 when the
// second got its turns, with 1 when it did not, with 2 when the priority is not permitted.
#include "freestanding.h"

enum { kSetScheduler = 144, kFifo = 1, kSteps = 300, kPatience = 100 };

static volatile int done;
static char stack[16384] __attribute__((aligned(16)));

__attribute__((noreturn)) static void Work(long unused) {
  (void)unused;
  for (volatile int i = 0; i < kSteps; ++i) {
  }
  done = 1;
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

long Main(long* unused) {
  (void)unused;
  const int priority = 1;
  if (SystemCall(kSetScheduler, 0, kFifo, (long)&priority) != 0) return 2;
  StartThread(Work, stack + sizeof stack, 0, 0);
  for (int i = 0; i < kSteps * kPatience; ++i)
    if (done) return 0;
  return 1;
}
