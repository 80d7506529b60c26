// SPDX-License-Identifier: MIT
// A program that does the same at each level of optimisation.
static volatile unsigned sink;

static unsigned Small(unsigned value) {
  if (value % 3 == 0)
    return value * 2;
  return value + 1;
}

static __attribute__((noinline)) unsigned Sum(unsigned count) {
  unsigned sum = 0;
  for (unsigned i = 0; i < count; ++i)
    if (i % 5 == 2)
      sum += Small(i);
    else
      sum ^= i;
  return sum;
}

void _start(void) {
  for (unsigned i = 0; i < 50; ++i)
    sink += Sum(i);
  __asm__ volatile("syscall" : : "a"(231), "D"(0));
  __builtin_unreachable();
}
