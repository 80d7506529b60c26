// SPDX-License-Identifier: MIT
// The recorded part, First to Last, between loops of as many rounds as the first argument says: by
// two threads, by code that is mapped while both run, and by a child. Begins with a byte of
// standard input, if there is a second argument.
#include "freestanding.h"

enum { kStackSize = 16384, kOpen = 2, kReadAndExecute = 5, kPrivateFixed = 0x12 };

static const unsigned long kElsewhere = 0x10000000;
static char stack[kStackSize] __attribute__((aligned(16)));
static unsigned long rounds;
static void (*volatile moved)(void);
static volatile int alive = 1;

// Their code is the same wherever it lies, and in lines of its own, apart from the loops.
void First(void);
void Last(void);
__asm__(
    ".balign 256\n"
    ".globl First, Last\n"
    ".type First, @function\n"
    ".type Last, @function\n"
    "First:\n"
    "  mov $3, %ecx\n"
    "1:\n"
    "  dec %ecx\n"
    "  jnz 1b\n"
    "  ret\n"
    ".size First, . - First\n"
    "Last:\n"
    "  ret\n"
    ".size Last, . - Last\n"
    ".balign 256\n");

static void Spin(void) {
  for (unsigned long left = rounds; left != 0; --left) __asm__ volatile("");
}

static void Pass(void) {
  Spin();
  First();
  Last();
}

// Calls what the other thread maps, at once.
__attribute__((noreturn)) static void Work(long unused) {
  (void)unused;
  Pass();
  while (!moved) {
  }
  moved();
  Last();
  Spin();
  SystemCall(kExit, 0, 0, 0);
  __builtin_unreachable();
}

static void MapElsewhere(void) {
  extern const char __executable_start[], etext[];
  const long size = (etext - __executable_start + 4095) & -4096;
  const long file = SystemCall(kOpen, (long)"/proc/self/exe", 0, 0);
  SystemCall6(kMmap, (long)kElsewhere, size, kReadAndExecute, kPrivateFixed, file, 0);
  moved = (void (*)(void))(kElsewhere + ((const char*)First - __executable_start));
}

static unsigned long Number(const char* text) {
  unsigned long number = 0;
  for (; *text; ++text) number = number * 10 + (unsigned long)(*text - '0');
  return number;
}

long Main(long* start) {
  char byte;
  rounds = start[0] > 1 ? Number((const char*)start[2]) : 10;
  if (start[0] > 2 && SystemCall(kRead, 0, (long)&byte, 1) != 1) return 1;
  Pass();
  Pass();
  if (StartThread(Work, stack + kStackSize, 0, &alive) < 0) return 2;
  Spin();
  MapElsewhere();
  for (int seen = alive; seen; seen = alive)
    SystemCall6(kFutex, (long)&alive, 0, seen, 0, 0, 0);  // wait
  const long child = SystemCall(kFork, 0, 0, 0);
  if (child == 0) {
    Pass();
    return 0;
  }
  WaitFor(child);
  Spin();
  return 0;
}
