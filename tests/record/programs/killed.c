// SPDX-License-Identifier: MIT
// Waits for its parent's child, which kills it: it dies in a system call.
#include "freestanding.h"

long Main(long* stack) {
  (void)stack;
  const long self = SystemCall(kGetpid, 0, 0, 0);
  if (SystemCall(kFork, 0, 0, 0) == 0) {
    SleepMilliseconds(30);
    SystemCall(kKill, self, kSigKill, 0);
    Exit(0);
  }
  SystemCall(kPause, 0, 0, 0);
  return 0;
}
