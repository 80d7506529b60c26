// SPDX-License-Identifier: MIT
// Makes system calls whose numbers stand in the caller, behind functions that all calls go through.
#include <unistd.h>

static int __attribute__((noinline)) part(int n) { return n == 0 ? 0 : n + part(n - 1); }

int main(void) {
  int wrong = write(1, "one\n", 4) != 4;
  wrong += part(5) != 15;
  wrong += write(1, "two\n", 4) != 4;
  return wrong;
}
