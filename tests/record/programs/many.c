// SPDX-License-Identifier: MIT
// Makes many: `many c 1000` children one after the other, `many p 200` children at once,
// `many t 500` threads at once. All of those at once wait until the last one is there.
#include "freestanding.h"

enum {
  kStack = 4096,
  kMost = 2000,
  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, CHILD_CLEARTID
  kThread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x200000
};

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

__attribute__((used, noreturn)) static void Work(void) {
  WaitTogether();
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static long StartThread(long which) {
  alive[which] = 1;
  long result = kClone;
  register long child_tid __asm__("r10") = (long)&alive[which];
  __asm__ volatile(
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "call Work\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)kThread), "S"(stacks[which] + kStack), "d"(0), "r"(child_tid)
      : "rcx", "r8", "r9", "r11", "memory");
  return result;
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
      if (StartThread(i) < 0) return 3;
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
