// SPDX-License-Identifier: MIT
// Functions for address filters: `once` is there once, `twice` two times (two_statics_other.c).
#include <stdio.h>

int other(int value);

static int __attribute__((noinline)) twice(int value) {
  __asm__ volatile("" ::: "memory");
  return value + 1;
}

int __attribute__((noinline)) once(int value) {
  __asm__ volatile("" ::: "memory");
  return twice(value) + other(value);
}

int main(void) { return once(getchar()) == 0; }
