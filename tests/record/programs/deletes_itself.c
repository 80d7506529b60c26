// SPDX-License-Identifier: MIT
// Unlinks its own file at once, and then runs code that it had not run before.
#include "freestanding.h"

enum { kUnlink = 87 };

static __attribute__((noinline, section(".text.far"), aligned(4096))) long AfterItIsGone(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += i ^ (sum << 1);
  return sum;
}

long Main(long* stack) {
  SystemCall(kUnlink, stack[1], 0, 0);
  return AfterItIsGone(10) == 0;
}
