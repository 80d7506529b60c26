// SPDX-License-Identifier: MIT
// Deeper than the 64 entries of the call stack; then calls and returns at its edge.
#include "freestanding.h"

__attribute__((noinline)) static long Descend(long depth) {
  __asm__ volatile("");
  if (depth == 0) return 0;
  return Descend(depth - 1) + 1;
}

__attribute__((noinline)) static long Fibonacci(long n) {
  __asm__ volatile("");
  return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
}

long Main(long* stack) {
  (void)stack;
  long sum = Descend(150) + Descend(64) + Descend(63) + Fibonacci(7);
  return sum == 150 + 64 + 63 + 13 ? 0 : 1;
}
