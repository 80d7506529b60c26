// SPDX-License-Identifier: MIT
// Two threads that never sleep, one that never wakes, and the first, which ends them all in the way
// that its first argument's first letter says.
#include "freestanding.h"

enum { kStackSize = 16384 };

static volatile int ready;
static volatile int never;
static volatile int touched;
static char stacks[3][kStackSize] __attribute__((aligned(16)));

static void Ready(void) {
  __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
  SystemCall6(kFutex, (long)&ready, 1, 2, 0, 0, 0);  // wake
}

// A block that jumps to itself, whose time is useless.
static void Spin(void) {
  __asm__ volatile(
      "1:\n"
      "  pause\n"
      "  cmpl $0, %0\n"
      "  je 1b\n"
      :
      : "m"(never)
      : "memory");
}

static void Branch(void) {
  for (volatile long i = 0; !never; ++i)
    if (i % 3 == 1) touched |= 1;
}

__attribute__((noreturn)) static void Work(long which) {
  Ready();
  if (which == 0) Spin();
  if (which == 1) Branch();
  SystemCall6(kFutex, (long)&never, 0, 0, 0, 0, 0);  // wait
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

long Main(long* stack) {
  const char* how = (const char*)stack[2];
  for (long which = 0; which < 3; ++which)
    if (StartThread(Work, stacks[which] + kStackSize, which, 0) < 0) return 1;
  for (int seen = ready; seen != 3; seen = ready)
    SystemCall6(kFutex, (long)&ready, 0, seen, 0, 0, 0);  // wait
  SleepMilliseconds(2);
  char* const program[] = {(char*)stack[3], 0};
  char* const none[] = {0};
  if (*how == 'f') {  // an execve that fails first: its arguments are too long
    static char* arguments[40];
    static char text[100000];
    for (unsigned i = 0; i < sizeof text - 1; ++i) text[i] = 'a';
    for (unsigned i = 0; i < sizeof arguments / sizeof *arguments - 1; ++i) arguments[i] = text;
    SystemCall(kExecve, (long)program[0], (long)arguments, (long)none);
    SleepMilliseconds(2);
  }
  if (*how == 'e' || *how == 'f') SystemCall(kExecve, (long)program[0], (long)program, (long)none);
  if (*how == 'c') *(volatile char*)8 = 1;
  if (*how == 'a') SetAlarm(1000);
  if (*how == 'a') SystemCall(kPause, 0, 0, 0);
  return 3;
}
