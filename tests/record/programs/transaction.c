// SPDX-License-Identifier: MIT
// A transaction, which single-stepping aborts at its first instruction.
#include "freestanding.h"

static int HasTransactions(void) {
  unsigned a = 7, b, c = 0, d;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b >> 11 & 1;
}

long Main(long* stack) {
  (void)stack;
  if (!HasTransactions()) return 0;
  int path;
  __asm__ volatile(
      "  xbegin 1f\n"
      "  xend\n"
      "  mov $1, %0\n"
      "  jmp 2f\n"
      "1: mov $2, %0\n"
      "2:\n"
      : "=r"(path)
      :
      : "rax", "memory");
  // 1 where nothing steps the program; exit with the way it went.
  return path;
}
