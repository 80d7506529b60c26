// SPDX-License-Identifier: MIT
int other(int value);

static int __attribute__((noinline)) twice(int value) {
  __asm__ volatile("" ::: "memory");
  return value * 3;
}

int other(int value) { return twice(value) - 1; }
