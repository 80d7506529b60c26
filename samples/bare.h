// SPDX-License-Identifier: MIT
// A process without a C library, whose every instruction is its own: what it executes does not
// depend on the machine. Begin is called with the stack the kernel left: argc, argv.
#pragma once

enum {
  kRead = 0,
  kWrite = 1,
  kMmap = 9,
  kMprotect = 10,
  kRtSigaction = 13,
  kPipe = 22,
  kNanosleep = 35,
  kGetpid = 39,
  kClone = 56,
  kFork = 57,
  kExecve = 59,
  kExit = 60,
  kWait4 = 61,
  kKill = 62,
  kGettid = 186,
  kFutex = 202,
  kExitGroup = 231,
};

static inline long Call6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static inline long Call(long number, long a, long b, long c) {
  return Call6(number, a, b, c, 0, 0, 0);
}

__attribute__((noreturn)) static inline void End(long status) {
  Call(kExitGroup, status, 0, 0);
  __builtin_unreachable();
}

static inline void Print(const char* text) {
  long size = 0;
  while (text[size]) ++size;
  Call(kWrite, 1, (long)text, size);
}

static inline void Sleep(long milliseconds) {
  const long time[2] = {0, milliseconds * 1000000};
  Call(kNanosleep, (long)time, 0, 0);
}

static inline void WaitFor(long child) { Call6(kWait4, child, 0, 0, 0, 0, 0); }

long Begin(long* stack);
__attribute__((used, noreturn)) static void Start(long* stack) { End(Begin(stack)); }
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call Start\n");
