// SPDX-License-Identifier: MIT
// Asks for filters of system calls, twice each, and to be traced, in a child too.
#include "freestanding.h"

enum { kSeccomp = 317, kPrctl = 157, kSetSeccomp = 22, kFilter = 2, kPtrace = 101 };

static void Ask(void) {
  for (int i = 0; i < 2; ++i) {
    SystemCall(kSeccomp, 1, 0, 0);
    SystemCall(kPrctl, kSetSeccomp, kFilter, 0);
  }
}

long Main(long* stack) {
  (void)stack;
  Ask();
  if (SystemCall(kFork, 0, 0, 0) == 0) {
    Ask();
    SystemCall(kPtrace, 0, 0, 0);
    Exit(0);
  }
  return 0;
}
