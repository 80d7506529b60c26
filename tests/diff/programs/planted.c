// SPDX-License-Identifier: MIT
// Two versions of a program, and what the new one (-DNEW) does otherwise.
#define KEEP static __attribute__((noinline))

static volatile unsigned sink;

#ifdef NEW
KEEP void Added(void) {
  sink += 7;
  sink ^= 3;
}
#else
KEEP void Removed(void) {
  sink += 9;
}
#endif

KEEP void Loop(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i)
    sink += i;
}

KEEP void Choose(unsigned value) {
  if (value > 50)
    sink += 100;
  sink ^= value;
}

KEEP void Seldom(void) {
  sink *= 3;
}

KEEP void Same(void) {
  sink ^= 5;
}

KEEP void Work(unsigned rounds, unsigned highest) {
  Loop(rounds);
  for (unsigned value = 0; value < highest; value += 10)
    Choose(value);
  Same();
}

void _start(void) {
#ifdef NEW
  Added();
  Work(2000, 100);
  Seldom();
#else
  Removed();
  Work(1000, 40);
  if (sink == 12345) Seldom();
#endif
  __asm__ volatile("syscall" : : "a"(231), "D"(0));
  __builtin_unreachable();
}
