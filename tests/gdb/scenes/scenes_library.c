// SPDX-License-Identifier: MIT
// A library of the program scenes.c.
static volatile int last;

static __attribute__((noinline)) int kept(int value) {
  last = value;
  return last;
}

int shared_sum(int first, int second) {
  int sum = kept(first);
  sum += kept(second);
  return sum;
}
