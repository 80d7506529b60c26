// SPDX-License-Identifier: MIT
// What leaves a block elsewhere than at its end, the same in every run: faults in loops on
// themselves, with and without siginfo, signals out of signals, iterations, odd returns.
#include "freestanding.h"

static volatile long handled;
static char from[300], to[300];

static void Count(int signal) {
  (void)signal;
  ++handled;
}

static void CountNested(int signal) {
  if (++handled < 4) SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), signal, 0);
}

// The faulting instructions are two bytes long.
static void Skip(int signal, void* info, void* context) {
  (void)signal;
  (void)info;
  ++handled;
  *InterruptedIp(context) += 2;
}

static void Faults(void) {
  Handle(kSigSegv, Skip, kSaSiginfo);
  // A fault at the first instruction of a block that jumps to itself, each time round.
  __asm__ volatile(
      "  mov $3, %%ecx\n"
      "  xor %%eax, %%eax\n"
      "1:\n"
      "  mov (%%rax), %%edx\n"
      "  dec %%ecx\n"
      "  jnz 1b\n"
      :
      :
      : "rax", "rcx", "rdx", "memory");
  // The same in its middle, and the handler asks for no siginfo.
  Handle(kSigSegv, Skip, 0);
  __asm__ volatile(
      "  mov $3, %%ecx\n"
      "  xor %%eax, %%eax\n"
      "1:\n"
      "  inc %%edx\n"
      "  mov (%%rax), %%edx\n"
      "  dec %%ecx\n"
      "  jnz 1b\n"
      :
      :
      : "rax", "rcx", "rdx", "memory");
  Handle(kSigFpe, Skip, kSaSiginfo);
  __asm__ volatile("xor %%ecx, %%ecx\n  div %%ecx\n" : : : "rax", "rcx", "rdx");
  Handle(kSigTrap, Count, 0);
  __asm__ volatile("int3");
}

static void Iterations(void) {
  for (long size = 0; size < 300; size += 99) {
    void* source = from;
    void* target = to;
    long count = size;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
  }
}

// A function that returns to somewhere else than its call, then calls that return as they should.
static void OddReturns(void) {
  for (int i = 0; i < 4; ++i)
    __asm__ volatile(
        "  call 1f\n"
        "  ud2\n"
        "1:\n"
        "  lea 2f(%%rip), %%rax\n"
        "  mov %%rax, (%%rsp)\n"
        "  ret\n"
        "3:\n"
        "  ret\n"
        "2:\n"
        "  call 3b\n"
        "  lea 3b(%%rip), %%rax\n"
        "  call *%%rax\n"
        :
        :
        : "rax", "memory");
}

long Main(long* stack) {
  (void)stack;
  const long self = SystemCall(kGetpid, 0, 0, 0);
  Handle(kSigUsr1, CountNested, kSaNodefer);
  SystemCall(kKill, self, kSigUsr1, 0);
  Faults();
  Iterations();
  OddReturns();
  Count(0);  // a handler called as a function
  return handled == 13 ? 0 : 1;
}
