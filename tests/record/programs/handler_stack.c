// SPDX-License-Identifier: MIT
// Where the stack pointer of a signal handler lies: 8 bytes below a multiple of 16, as at the
// beginning of any function. The same in every run: signals to itself, one in another, several at
// once, on a stack of their own, and faults; each must return to where it came from.
#include "freestanding.h"

enum { kRtSigprocmask = 14, kSigaltstack = 131, kSigUsr2 = 12, kSaOnstack = 0x08000000 };

static volatile unsigned long seen;  // of each handler's stack pointer, the last four bits
static volatile unsigned long handled, nested;
static char other_stack[16384] __attribute__((aligned(16)));

__attribute__((used)) static void Note(unsigned long stack) {
  if (stack % 16 != 8) ++seen;
  ++handled;
  if (nested == 0) return;
  --nested;
  SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), kSigUsr1, 0);
}

// With a vector on its stack, as a compiler lays it.
void Handler(int signal);
__asm__(
    ".globl Handler\n"
    "Handler:\n"
    "  mov %rsp, %rdi\n"
    "  sub $24, %rsp\n"
    "  call Note\n"
    "  add $24, %rsp\n"
    "  ret\n");

__attribute__((used)) static void SkipTwo(void* context, unsigned long stack) {
  Note(stack);
  *InterruptedIp(context) += 2;
}

void FaultHandler(int signal);
__asm__(
    ".globl FaultHandler\n"
    "FaultHandler:\n"
    "  mov %rdx, %rdi\n"
    "  mov %rsp, %rsi\n"
    "  sub $8, %rsp\n"
    "  call SkipTwo\n"
    "  add $8, %rsp\n"
    "  ret\n");

static void Send(long signal) { SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), signal, 0); }

long Main(long* stack) {
  (void)stack;
  Handle(kSigUsr1, Handler, kSaNodefer);
  Send(kSigUsr1);
  nested = 3;
  Send(kSigUsr1);
  if (handled != 5) return 1;

  Handle(kSigUsr2, Handler, 0);
  const unsigned long both = 1ul << (kSigUsr1 - 1) | 1ul << (kSigUsr2 - 1);
  SystemCall6(kRtSigprocmask, 0, (long)&both, 0, 8, 0, 0);
  Send(kSigUsr1);
  Send(kSigUsr2);
  SystemCall6(kRtSigprocmask, 1, (long)&both, 0, 8, 0, 0);
  if (handled != 7) return 2;

  struct {
    void* begin;
    long flags;
    long size;
  } own = {other_stack, 0, sizeof other_stack};
  SystemCall(kSigaltstack, (long)&own, 0, 0);
  Handle(kSigUsr1, Handler, kSaOnstack);
  Send(kSigUsr1);
  if (handled != 8) return 3;

  Handle(kSigSegv, FaultHandler, kSaSiginfo);
  __asm__ volatile("xor %%eax, %%eax\n  mov (%%rax), %%eax\n" : : : "rax", "memory");
  if (handled != 9) return 4;
  return seen == 0 ? 0 : 5;
}
