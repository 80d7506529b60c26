// SPDX-License-Identifier: MIT
// Signals at places that are the same in every run: faults and traps, one in the handler of
// another, handlers that return elsewhere, and system calls that a signal interrupts: some go on,
// some end with EINTR.
#include "bare.h"

enum {
  kSigIll = 4,
  kSigUsr2 = 12,
  kInterrupted = -4,
};

static volatile long handled;
static int ends[2];  // of a pipe

static void Count(int signal) {
  (void)signal;
  ++handled;
}

// Goes on behind the instruction, which is two bytes long.
static void Skip(int signal, void* info, void* context) {
  (void)signal;
  (void)info;
  ++handled;
  *InterruptedIp(context) += 2;
}

// Faults itself, and is skipped.
static void Fault(int signal, void* info, void* context) {
  __asm__ volatile("xor %%ecx, %%ecx\n  div %%ecx\n" : : : "rax", "rcx", "rdx", "cc");
  Skip(signal, info, context);
}

void Elsewhere(void);
static void GoElsewhere(int signal, void* info, void* context) {
  (void)signal;
  (void)info;
  ++handled;
  *InterruptedIp(context) = (unsigned long)Elsewhere;
}

static void Again(int signal) {
  if (++handled % 5 != 0) SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), signal, 0);
}

static void WriteByte(int signal) {
  (void)signal;
  ++handled;
  SystemCall(kWrite, ends[1], (long)"", 1);
}

__attribute__((noinline)) static void Faults(void) {
  Handle(kSigSegv, Skip, kSaSiginfo);
  Handle(kSigFpe, Skip, kSaSiginfo);
  Handle(kSigIll, Skip, kSaSiginfo);
  __asm__ volatile("xor %%eax, %%eax\n  mov (%%rax), %%ecx\n" : : : "rax", "rcx", "cc");
  __asm__ volatile("xor %%eax, %%eax\n  nop\n  nop\n  mov %%ecx, (%%rax)\n  nop\n"
                   :
                   :
                   : "rax", "cc", "memory");
  __asm__ volatile("ud2\n");
  Handle(kSigSegv, Fault, kSaSiginfo);
  __asm__ volatile("xor %%eax, %%eax\n  mov (%%rax), %%ecx\n" : : : "rax", "rcx", "cc");
  Handle(kSigSegv, GoElsewhere, kSaSiginfo);
  __asm__ volatile(
      "  xor %%eax, %%eax\n"
      "  mov (%%rax), %%ecx\n"
      "  ud2\n"
      "  ud2\n"
      ".globl Elsewhere\n"
      "Elsewhere:\n"
      :
      :
      : "rax", "rcx", "cc");
}

// A child sends the signal while this process waits, then lets it go on. It gives this process time
// to come to where it waits: on a machine too busy for that, fewer calls are interrupted.
static void Disturb(int signal) {
  const long parent = SystemCall(kGetpid, 0, 0, 0);
  if (SystemCall(kFork, 0, 0, 0) != 0) return;
  SleepMilliseconds(200);
  SystemCall(kKill, parent, signal, 0);
  SleepMilliseconds(60);
  SystemCall(kWrite, ends[1], (long)"", 1);
  Exit(0);
}

static long ReadByte(void) {
  char byte;
  return SystemCall(kRead, ends[0], (long)&byte, 1);
}

__attribute__((noinline)) static void SystemCalls(void) {
  // A signal nobody handles: the call goes on without a word.
  Disturb(kSigWinch);
  if (ReadByte() != 1) Exit(1);
  // A handler, and the call begins again after it.
  Handle(kSigUsr2, Count, kSaRestart);
  Disturb(kSigUsr2);
  if (ReadByte() != 1) Exit(2);
  // A handler, and the call has ended.
  Handle(kSigUsr2, Count, 0);
  Disturb(kSigUsr2);
  if (ReadByte() != kInterrupted) Exit(3);
  if (ReadByte() != 1) Exit(4);
  // The handler itself makes what the call waits for.
  Handle(kSigUsr2, WriteByte, kSaRestart);
  SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), kSigUsr2, 0);
  if (ReadByte() != 1) Exit(5);
}

long Main(long* stack) {
  (void)stack;
  SystemCall(kPipe, (long)ends, 0, 0);
  Faults();
  Handle(kSigUsr1, Count, 0);
  SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), kSigUsr1, 0);
  Handle(kSigUsr1, Again, kSaNodefer);
  handled = 0;
  SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), kSigUsr1, 0);
  Handle(kSigTrap, Count, 0);
  __asm__ volatile("int3\n");
  SystemCalls();
  Print("interruptions\n");
  return 0;
}
