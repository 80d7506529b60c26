// SPDX-License-Identifier: MIT
// Runs until its standard input ends, then ends with status 9: the first thread waits for that, the
// second one computes, the third one sleeps and forks. Writes a byte when all run.
#include "freestanding.h"

enum {
  kStackSize = 16384,
  kThreadFlags =
      0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
};

static volatile int running;
static volatile long sum;
static char stacks[2][kStackSize] __attribute__((aligned(16)));

__attribute__((noinline)) static void Add(long value) { sum += value; }

__attribute__((noinline)) static void Compute(void) {
  __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
  for (long i = 0;; ++i)
    if (i & 1) Add(i);
}

__attribute__((noinline)) static void SleepAndFork(void) {
  __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    const long child = SystemCall(kFork, 0, 0, 0);
    if (child == 0) {
      Add(7);
      Exit(0);
    }
    SystemCall6(kWait4, child, 0, 0, 0, 0, 0);
    SleepMilliseconds(5);
  }
}

__attribute__((used, noreturn)) static void Work(long which) {
  which ? Compute() : SleepAndFork();
  __builtin_unreachable();
}

static void StartThread(char* stack, long which) {
  long result = kClone;
  __asm__ volatile(
      "mov %[which], %%rbx\n"
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "mov %%rbx, %%rdi\n"
      "call Work\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)kThreadFlags), "S"(stack + kStackSize), "d"(0), [which] "r"(which)
      : "rbx", "rcx", "r8", "r9", "r10", "r11", "memory");
}

long Main(long* stack) {
  (void)stack;
  char byte;
  StartThread(stacks[0], 0);
  StartThread(stacks[1], 1);
  while (running != 2) SleepMilliseconds(1);
  SystemCall(kWrite, 1, (long)"x", 1);
  while (SystemCall(kRead, 0, (long)&byte, 1) > 0) {
  }
  return 9;
}
