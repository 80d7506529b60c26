// SPDX-License-Identifier: MIT
// Variables on the stack, in registers, and in a register that a call keeps.
#include <time.h>

static volatile int seen;

__attribute__((noinline)) static int inner(int n) {
  int sum = n + seen;
  seen = sum;
  return sum + 1;
}

__attribute__((noinline)) static int middle(int n, int more) {
  int kept = seen + more;
  __asm__ volatile("" : "+r"(kept));
  int got = inner(n);
  seen = got;
  return kept + got;
}

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return middle(3, (int)now.tv_sec) == 0;
}
