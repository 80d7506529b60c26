// SPDX-License-Identifier: MIT
// A process without a C library, so that recording it takes milliseconds: system calls, signals
// with their trampoline, and an entry that calls Main.
#pragma once

enum {
  kRead = 0,
  kWrite = 1,
  kMmap = 9,
  kMprotect = 10,
  kMunmap = 11,
  kRtSigaction = 13,
  kRtSigreturn = 15,
  kPipe = 22,
  kPause = 34,
  kNanosleep = 35,
  kSetitimer = 38,
  kGetpid = 39,
  kClone = 56,
  kFork = 57,
  kVfork = 58,
  kExecve = 59,
  kExit = 60,
  kWait4 = 61,
  kKill = 62,
  kGetppid = 110,
  kFutex = 202,
  kExitGroup = 231,
};

enum {
  kSigQuit = 3,
  kSigTrap = 5,
  kSigFpe = 8,
  kSigKill = 9,
  kSigUsr1 = 10,
  kSigSegv = 11,
  kSigAlrm = 14,
  kSigStop = 19,
  kSigWinch = 28
};

static inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
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

static inline long SystemCall(long number, long a, long b, long c) {
  return SystemCall6(number, a, b, c, 0, 0, 0);
}

__attribute__((noreturn)) static inline void Exit(long status) {
  SystemCall(kExitGroup, status, 0, 0);
  __builtin_unreachable();
}

// The kernel's struct sigaction.
struct Action {
  void* handler;
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};
enum { kSaSiginfo = 4, kSaRestart = 0x10000000, kSaNodefer = 0x40000000, kSaRestorer = 0x04000000 };

void SignalReturn(void);
__asm__(
    ".globl SignalReturn\n"
    "SignalReturn:\n"
    "  mov $15, %eax\n"
    "  syscall\n");

static inline void Handle(int signal, void* handler, unsigned long flags) {
  const struct Action action = {handler, flags | kSaRestorer, SignalReturn, 0};
  SystemCall6(kRtSigaction, signal, (long)&action, 0, sizeof action.mask, 0, 0);
}

// Where a siginfo handler's third argument keeps the interrupted instruction's address.
static inline unsigned long* InterruptedIp(void* context) {
  enum { kRipOffset = 168 };
  return (unsigned long*)((char*)context + kRipOffset);
}

struct Time {
  long seconds;
  long fraction;  // microseconds or nanoseconds, by system call
};

static inline void SleepMilliseconds(long milliseconds) {
  const struct Time time = {0, milliseconds * 1000000};
  SystemCall(kNanosleep, (long)&time, 0, 0);
}

// One SIGALRM after so many microseconds.
static inline void SetAlarm(long microseconds) {
  const struct Time timer[2] = {{0, 0}, {0, microseconds}};
  SystemCall(kSetitimer, 0, (long)timer, 0);
}

long Main(long* stack);
__attribute__((used, noreturn)) static void Begin(long* stack) { Exit(Main(stack)); }
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call Begin\n");
