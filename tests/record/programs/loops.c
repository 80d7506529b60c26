// SPDX-License-Identifier: MIT
// Loops of direct jumps and calls, which write no packets, each ended by something asynchronous.
// The first argument says which.
#include "freestanding.h"

static volatile long rounds;

// Endless recursions, until the stack is full.
__asm__(
    ".pushsection .text\n"
    "RecurseAlone: push %rax\n"
    "  call RecurseAlone\n"
    "RecurseOne: sub $56, %rsp\n"
    "  call RecurseTwo\n"
    "RecurseTwo: push %rcx\n"
    "  jmp RecurseThree\n"
    "  nop\n"
    "RecurseThree: push %rdx\n"
    "  nop\n"
    "  call RecurseOne\n"
    "SpinOnItself: jmp SpinOnItself\n"
    "SpinRound: jmp 2f\n"
    "1: nop\n"
    "  jmp SpinRound\n"
    "2: nop\n"
    "  jmp 1b\n"
    ".popsection\n");
void RecurseAlone(void);
void RecurseOne(void);
void SpinOnItself(void);
void SpinRound(void);

// Lets the interrupted loop go on twice; then ends the program.
static void OnAlarm(int signal) {
  (void)signal;
  if (++rounds == 3) Exit(3);
  SetAlarm(5000);
}

static void SpinInThread(long argument) {
  (void)argument;
  SpinOnItself();
}

static char thread_stack[8192] __attribute__((aligned(16)));

// The kernel lets the stack grow no further than that: each step of the step engine takes long.
static void LimitStack(void) {
  enum { kSetrlimit = 160, kStackLimit = 3 };
  const unsigned long limits[2] = {1 << 16, 1 << 16};
  SystemCall(kSetrlimit, kStackLimit, (long)limits, 0);
}

static int Is(const char* text, char first, char second) {
  return text[0] == first && text[1] == second;
}

long Main(long* stack) {
  const char* which = stack[0] > 1 ? (const char*)stack[2] : "";
  LimitStack();
  if (Is(which, 'a', 'l')) RecurseAlone();
  if (Is(which, 't', 'h')) RecurseOne();
  if (Is(which, 's', 'p')) {  // the alarm kills it
    SetAlarm(5000);
    SpinOnItself();
  }
  if (Is(which, 'r', 'o')) {
    SetAlarm(5000);
    SpinRound();
  }
  if (Is(which, 'h', 'a')) {  // a handler returns into the loop
    Handle(14, OnAlarm, 0);
    SetAlarm(5000);
    SpinRound();
  }
  if (Is(which, 'k', 'i')) {  // killed by a child
    const long self = SystemCall(kGetpid, 0, 0, 0);
    if (SystemCall(kFork, 0, 0, 0) == 0) {
      SleepMilliseconds(10);
      SystemCall(kKill, self, kSigKill, 0);
      Exit(0);
    }
    SpinOnItself();
  }
  if (Is(which, 'o', 't')) {  // another thread ends the process
    StartThread(SpinInThread, thread_stack + sizeof thread_stack, 0, 0);
    SleepMilliseconds(10);
    Exit(4);
  }
  return 1;
}
