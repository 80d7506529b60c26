// SPDX-License-Identifier: MIT
// A program that becomes more than one: threads, a forked child that executes this program anew,
// and in the end that itself. Nothing depends on who is faster.
#include "bare.h"

enum {
  kStack = 16384,
  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, CHILD_CLEARTID; QEMU knows no other threads
  kThread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x200000,
  kThreads = 3,
};

static char stacks[kThreads][kStack] __attribute__((aligned(16)));
static volatile int alive[kThreads];  // the kernel clears it when the thread has ended
static int ends[2];                   // of a pipe

__attribute__((noinline)) static long Collatz(long value) {
  long steps = 0;
  for (; value != 1; ++steps) value = value % 2 ? 3 * value + 1 : value / 2;
  return steps;
}

__attribute__((used, noreturn)) static void Work(long which) {
  const char result = (char)Collatz(20 + which);
  Call(kWrite, ends[1], (long)&result, 1);
  Call(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static void StartThread(long which) {
  alive[which] = 1;
  long result = kClone;
  register long child_tid __asm__("r10") = (long)&alive[which];
  __asm__ volatile(
      "mov %[which], %%rbx\n"
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "mov %%rbx, %%rdi\n"
      "call Work\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)kThread), "S"(stacks[which] + kStack), "d"(0), "r"(child_tid), [which] "r"(which)
      : "rbx", "rcx", "r8", "r9", "r11", "memory");
}

static void RunThreads(void) {
  for (long i = 0; i < kThreads; ++i) StartThread(i);
  char byte;
  for (long i = 0; i < kThreads; ++i) Call(kRead, ends[0], (long)&byte, 1);
  // One call each, whether the thread has ended already or not.
  for (long i = 0; i < kThreads; ++i) Call6(kFutex, (long)&alive[i], 0, 1, 0, 0, 0);
}

static void Become(char* self, const char* argument) {
  const char* const arguments[] = {self, argument, 0};
  const char* const environment[] = {0};
  Call(kExecve, (long)self, (long)arguments, (long)environment);
  End(9);
}

long Begin(long* stack) {
  char** const arguments = (char**)(stack + 1);
  if (stack[0] > 1) {
    Collatz(arguments[1][0]);
    Print(arguments[1]);
    return 0;
  }
  Call(kPipe, (long)ends, 0, 0);
  RunThreads();
  const long child = Call(kFork, 0, 0, 0);
  if (child == 0) {
    Collatz(30);
    Become(arguments[0], "child\n");
  }
  WaitFor(child);
  Become(arguments[0], "changes\n");
  return 1;
}
