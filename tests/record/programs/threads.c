// SPDX-License-Identifier: MIT
// Three threads; the last one alive is not the first.
#include "freestanding.h"

enum {
  kStackSize = 16384,
  kThreadFlags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000
};  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM

static volatile int ready;
static char stacks[2][kStackSize] __attribute__((aligned(16)));

__attribute__((used, noreturn)) static void Work(void) {
  for (volatile int i = 0; i < 20; ++i) {
  }
  __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
  SystemCall6(kFutex, (long)&ready, 1, 2, 0, 0, 0);  // wake
  SleepMilliseconds(20);
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static void StartThread(char* stack) {
  long result = kClone;
  __asm__ volatile(
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "call Work\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)kThreadFlags), "S"(stack + kStackSize), "d"(0)
      : "rcx", "r8", "r9", "r10", "r11", "memory");
}

long Main(long* stack) {
  (void)stack;
  StartThread(stacks[0]);
  StartThread(stacks[1]);
  for (int seen = ready; seen != 2; seen = ready)
    SystemCall6(kFutex, (long)&ready, 0, seen, 0, 0, 0);  // wait
  // Only this thread ends; the process lives until the others do.
  SystemCall(kExit, 0, 0, 0);
  return 1;
}
