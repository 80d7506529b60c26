// SPDX-License-Identifier: MIT
// Signals of every sort: sent to itself, by a timer in a loop and in a system call, ignored ones,
// faults, traps, nested ones. Arguments leave out what not every machine has: int1, int80.
#include "freestanding.h"

static volatile long handled;
static int ends[2];

static void Count(int signal) {
  (void)signal;
  ++handled;
}

static void CountNested(int signal) {
  if (++handled < 4) SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), signal, 0);
}

static void SkipTwo(int signal, void* info, void* context) {
  (void)signal;
  (void)info;
  ++handled;
  *InterruptedIp(context) += 2;
}

static void WriteByte(int signal) {
  (void)signal;
  ++handled;
  SystemCall(kWrite, ends[1], (long)"", 1);
}

// A child process that sends `signal` to its parent, then wakes it.
static void SendFromChild(int signal) {
  if (SystemCall(kFork, 0, 0, 0) != 0) return;
  SleepMilliseconds(30);
  SystemCall(kKill, SystemCall(kGetppid, 0, 0, 0), signal, 0);
  SleepMilliseconds(30);
  SystemCall(kWrite, ends[1], (long)"", 1);
  Exit(0);
}

// Whether an argument names it; `stack` holds argc, then argv.
static int LeavesOut(long* stack, const char* name) {
  for (long i = 1; i <= stack[0]; ++i) {
    const char* word = (const char*)stack[i];
    long at = 0;
    while (word[at] && word[at] == name[at]) ++at;
    if (word[at] == name[at]) return 1;
  }
  return 0;
}

static int ReadByte(void) {
  char byte;
  return SystemCall(kRead, ends[0], (long)&byte, 1) == 1;
}

long Main(long* stack) {
  const long self = SystemCall(kGetpid, 0, 0, 0);
  SystemCall(kPipe, (long)ends, 0, 0);

  Handle(kSigUsr1, Count, 0);
  SystemCall(kKill, self, kSigUsr1, 0);
  if (handled != 1) return 1;

  Handle(kSigUsr1, CountNested, kSaNodefer);
  SystemCall(kKill, self, kSigUsr1, 0);
  if (handled != 4) return 2;

  Handle(kSigAlrm, Count, 0);
  SetAlarm(3000);
  while (handled == 4) {
  }

  // A system call that goes on after the handler.
  Handle(kSigAlrm, WriteByte, kSaRestart);
  SetAlarm(20000);
  if (!ReadByte() || handled != 6) return 3;

  // One that a signal without a handler interrupts: it is restarted without any notice.
  SendFromChild(kSigWinch);
  if (!ReadByte()) return 4;
  // One that ends with EINTR.
  Handle(kSigAlrm, Count, 0);
  SetAlarm(20000);
  if (SystemCall(kPause, 0, 0, 0) != -4 || handled != 7) return 5;
  // A sleep, which the kernel restarts in its own way.
  SendFromChild(kSigWinch);
  SleepMilliseconds(50);
  if (!ReadByte()) return 6;

  // Faults: not executed, then skipped by the handler.
  Handle(kSigSegv, SkipTwo, kSaSiginfo);
  __asm__ volatile("xor %%eax, %%eax\n  mov (%%rax), %%eax\n" : : : "rax");
  __asm__ volatile("hlt\n  nop\n");  // privileged: #GP, one byte and a filler
  Handle(kSigFpe, SkipTwo, kSaSiginfo);
  __asm__ volatile("xor %%ecx, %%ecx\n  div %%ecx\n" : : : "rax", "rcx", "rdx");
  if (handled != 10) return 7;

  // Traps: the instruction is behind when the handler runs.
  Handle(kSigTrap, Count, 0);
  __asm__ volatile("int3");
  const int int1 = !LeavesOut(stack, "int1");
  if (int1) __asm__ volatile(".byte 0xf1");
  __asm__ volatile(".byte 0xcd, 0x03");  // int 3, the long way
  SystemCall(kKill, self, kSigTrap, 0);
  if (handled != 13 + int1) return 8;

  // int 0x80: the 32-bit system call for getpid.
  if (LeavesOut(stack, "int80")) return 0;
  long pid = 20;
  __asm__ volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
  return pid == self ? 0 : 9;
}
