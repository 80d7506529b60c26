// SPDX-License-Identifier: MIT
// A program that becomes more than one: threads, a forked child that executes this program anew,
// and in the end that itself. Nothing depends on who is faster.
#include "bare.h"

enum {
  kStack = 16384,
  kThreads = 3,
};

static char stacks[kThreads][kStack] __attribute__((aligned(16)));
static volatile int alive[kThreads];  // the kernel clears it when the thread has ended
// The ends of a pipe. Some data has to be in the file: perf 6.1 takes the variables of a program
// without any for what stands where its code is.
static int ends[2] = {-1, -1};

__attribute__((noinline)) static long Collatz(long value) {
  long steps = 0;
  for (; value != 1; ++steps) value = value % 2 ? 3 * value + 1 : value / 2;
  return steps;
}

__attribute__((noreturn)) static void Work(long which) {
  const char result = (char)Collatz(20 + which);
  SystemCall(kWrite, ends[1], (long)&result, 1);
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static void RunThreads(void) {
  for (long i = 0; i < kThreads; ++i) {
    alive[i] = 1;
    StartThread(Work, stacks[i] + kStack, i, &alive[i]);
  }
  char byte;
  for (long i = 0; i < kThreads; ++i) SystemCall(kRead, ends[0], (long)&byte, 1);
  // One call each, whether the thread has ended already or not.
  for (long i = 0; i < kThreads; ++i) SystemCall6(kFutex, (long)&alive[i], 0, 1, 0, 0, 0);
}

static void Become(char* self, const char* argument) {
  const char* const arguments[] = {self, argument, 0};
  const char* const environment[] = {0};
  SystemCall(kExecve, (long)self, (long)arguments, (long)environment);
  Exit(9);
}

long Main(long* stack) {
  char** const arguments = (char**)(stack + 1);
  if (stack[0] > 1) {
    Collatz(arguments[1][0]);
    Print(arguments[1]);
    return 0;
  }
  SystemCall(kPipe, (long)ends, 0, 0);
  RunThreads();
  const long child = SystemCall(kFork, 0, 0, 0);
  if (child == 0) {
    Collatz(30);
    Become(arguments[0], "child\n");
  }
  WaitFor(child);
  Become(arguments[0], "changes\n");
  return 1;
}
