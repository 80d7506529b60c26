// SPDX-License-Identifier: MIT
// Makes many: `many c 1000` children one after the other, `many p 200` children at once,
// `many t 500` threads at once. All of those at once wait until the last one is there.
#include "freestanding.h"

enum { kStack = 4096, kMost = 2000 };

static char stacks[kMost][kStack] __attribute__((aligned(16)));
static volatile int alive[kMost];
static int go[2];  // pipes
static int here[2];

static long Number(const char* text) {
  long number = 0;
  while (*text) number = number * 10 + *text++ - '0';
  return number;
}

static void WaitTogether(void) {
  char byte;
  SystemCall(kWrite, here[1], (long)"", 1);
  SystemCall(kRead, go[0], (long)&byte, 1);
}

__attribute__((noreturn)) static void Work(long which) {
  (void)which;
  WaitTogether();
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static void LetAllGo(long count) {
  char byte;
  for (long i = 0; i < count; ++i) SystemCall(kRead, here[0], (long)&byte, 1);
  for (long i = 0; i < count; ++i) SystemCall(kWrite, go[1], (long)"", 1);
}

long Main(long* stack) {
  char** const arguments = (char**)(stack + 1);
  if (stack[0] != 3) return 1;
  const long count = Number(arguments[2]);
  if (count > kMost) return 2;
  SystemCall(kPipe, (long)go, 0, 0);
  SystemCall(kPipe, (long)here, 0, 0);
  const char kind = arguments[1][0];
  for (long i = 0; i < count; ++i) {
    if (kind == 't') {
      alive[i] = 1;
      if (StartThread(Work, stacks[i] + kStack, 0, &alive[i]) < 0) return 3;
      continue;
    }
    const long child = SystemCall(kFork, 0, 0, 0);
    if (child < 0) return 4;
    if (child == 0) {
      if (kind == 'p') WaitTogether();
      Exit(0);
    }
    if (kind == 'c') SystemCall6(kWait4, child, 0, 0, 0, 0, 0);
  }
  if (kind != 'c') LetAllGo(count);
  for (long i = 0; i < count && kind == 'p'; ++i) SystemCall6(kWait4, -1, 0, 0, 0, 0, 0);
  for (long i = 0; i < count && kind == 't'; ++i)
    SystemCall6(kFutex, (long)&alive[i], 0, 1, 0, 0, 0);
  return 0;
}
