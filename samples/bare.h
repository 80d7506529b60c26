// SPDX-License-Identifier: MIT
// A process without a C library, whose every instruction is its own: what it executes does not
// depend on the machine, and recording it takes milliseconds. System calls, signals with their
// trampoline, threads, and an entry that calls Main with the stack the kernel left: argc, argv.
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
  kFutex = 202,
  kExitGroup = 231,
};

enum {
  kSigTrap = 5,
  kSigFpe = 8,
  kSigUsr1 = 10,
  kSigSegv = 11,
  kSigWinch = 28,
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

static inline void Print(const char* text) {
  long size = 0;
  while (text[size]) ++size;
  SystemCall(kWrite, 1, (long)text, size);
}

static inline void WaitFor(long child) { SystemCall6(kWait4, child, 0, 0, 0, 0, 0); }

// The kernel's struct sigaction.
struct Action {
  void* handler;
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};
enum { kSaSiginfo = 4, kSaRestart = 0x10000000, kSaNodefer = 0x40000000, kSaRestorer = 0x04000000 };

// Where a handler returns to. Only in programs that have one.
__attribute__((naked, unused)) static void SignalReturn(void) {
  __asm__("mov $15, %eax\n  syscall\n");  // rt_sigreturn
}

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

// Starts a thread on the stack that ends there, at a multiple of 16: it calls `work`, which must
// not return. `alive`, if any, is cleared and woken by the kernel when the thread has ended.
// Returns its number, negative when there is none.
static inline long StartThread(void (*work)(long), char* stack_end, long argument,
                               volatile int* alive) {
  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: what the emulator wants of a thread; CHILD_CLEARTID.
  const long flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | (alive ? 0x200000 : 0);
  long* const top = (long*)stack_end - 2;
  top[0] = argument;
  top[1] = (long)work;
  long result = kClone;
  register long cleared __asm__("r10") = (long)alive;
  __asm__ volatile(
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "pop %%rdi\n"
      "pop %%rax\n"
      "call *%%rax\n"
      "1:\n"
      : "+a"(result)
      : "D"(flags), "S"(top), "d"(0), "r"(cleared)
      : "rcx", "r8", "r9", "r11", "memory");
  return result;
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
