// SPDX-License-Identifier: MIT
// Children of every kind: by fork, vfork, clone with and without the parent's memory, clone3; a
// grandchild, and a child that becomes another program (this one, with an argument). The number of
// processes is 7 with the first one.
#include "freestanding.h"

enum { kClone3 = 435, kSigChld = 17, kCloneVm = 0x100, kStackSize = 4096 };

static char stack_of_child[kStackSize] __attribute__((aligned(16)));
static volatile long work;

static void Work(long times) {
  for (long i = 0; i < times; ++i) work += i;
}

static void WaitForChild(long child) { SystemCall6(kWait4, child, 0, 0, 0, 0, 0); }

__attribute__((used, noreturn)) static void OnOtherStack(void) {
  Work(40);
  Exit(0);
}

// A child with the parent's memory needs a stack of its own.
static long CloneWithMemory(void) {
  long result = kClone;
  __asm__ volatile(
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "call OnOtherStack\n"
      "1:\n"
      : "+a"(result)
      : "D"((long)(kCloneVm | kSigChld)), "S"(stack_of_child + kStackSize), "d"(0)
      : "rcx", "r8", "r9", "r10", "r11", "memory");
  return result;
}

static void ForkTwice(void) {
  const long child = SystemCall(kFork, 0, 0, 0);
  if (child == 0) {
    const long grandchild = SystemCall(kFork, 0, 0, 0);
    if (grandchild == 0) {
      Work(10);
      Exit(0);
    }
    WaitForChild(grandchild);
    Work(20);
    Exit(0);
  }
  WaitForChild(child);
}

static void VforkAndExec(char* self) {
  const char* const arguments[] = {self, "again", 0};
  const char* const environment[] = {0};
  const long child = SystemCall(kVfork, 0, 0, 0);
  if (child == 0) {
    SystemCall(kExecve, (long)self, (long)arguments, (long)environment);
    Exit(2);
  }
  WaitForChild(child);
}

static void CloneNew(void) {
  const unsigned long arguments[8] = {0, 0, 0, 0, kSigChld, 0, 0, 0};
  const long child = SystemCall(kClone3, (long)arguments, sizeof arguments, 0);
  if (child == 0) {
    Work(30);
    Exit(0);
  }
  if (child > 0) WaitForChild(child);
}

long Main(long* stack) {
  if (stack[0] > 1) {
    Work(50);
    return 0;
  }
  ForkTwice();
  VforkAndExec(((char**)(stack + 1))[0]);
  const long plain = SystemCall6(kClone, kSigChld, 0, 0, 0, 0, 0);
  if (plain == 0) {
    Work(60);
    Exit(0);
  }
  WaitForChild(plain);
  WaitForChild(CloneWithMemory());
  CloneNew();
  Work(5);
  return 0;
}
