// SPDX-License-Identifier: MIT
// What the recorded programs need beyond what the samples have.
#pragma once

#include "samples/bare.h"

enum {
  kMunmap = 11,
  kRtSigreturn = 15,
  kPause = 34,
  kSetitimer = 38,
  kVfork = 58,
  kGetppid = 110,
};

enum {
  kSigQuit = 3,
  kSigKill = 9,
  kSigAlrm = 14,
  kSigStop = 19,
};

// One SIGALRM after so many microseconds.
static inline void SetAlarm(long microseconds) {
  const struct Time timer[2] = {{0, 0}, {0, microseconds}};
  SystemCall(kSetitimer, 0, (long)timer, 0);
}
