// SPDX-License-Identifier: MIT
// Goes 100 calls deep: more than the 64 entries of the hardware's call stack.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned long Factorial(unsigned n) {
  if (n <= 1) return 1;
  // The volatile keeps the compiler from making a loop of it.
  volatile unsigned long rest = Factorial(n - 1);
  return rest * n;
}

int main(int argc, char** argv) {
  const unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
  printf("%lu\n", Factorial(depth));
  return 0;
}
