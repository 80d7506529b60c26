// SPDX-License-Identifier: MIT
// Four threads that fork all the time; the first one becomes another program (this one, with an
// argument) meanwhile. Ends with status 3.
#include "freestanding.h"

enum {
  kThreads = 4,
  kStackSize = 4096,
  kThreadFlags =
      0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
};

static char stacks[kThreads][kStackSize] __attribute__((aligned(16)));
static volatile int forked;

__attribute__((used, noreturn)) static void ForkAllTheTime(void) {
  for (;;) {
    if (SystemCall(kFork, 0, 0, 0) == 0) {
      SystemCall(kGetpid, 0, 0, 0);
      Exit(0);
    }
    __atomic_fetch_add(&forked, 1, __ATOMIC_SEQ_CST);
  }
}

static void StartThread(char* stack) {
  long result = kClone;
  __asm__ volatile(
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "call ForkAllTheTime\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)kThreadFlags), "S"(stack + kStackSize), "d"(0)
      : "rcx", "r8", "r9", "r10", "r11", "memory");
}

long Main(long* stack) {
  char* const self = ((char**)(stack + 1))[0];
  const char* const arguments[] = {self, "again", 0};
  const char* const environment[] = {0};
  if (stack[0] > 1) return 3;
  for (int i = 0; i < kThreads; ++i) StartThread(stacks[i]);
  while (forked < 2 * kThreads) SleepMilliseconds(1);
  SystemCall(kExecve, (long)self, (long)arguments, (long)environment);
  return 4;
}
