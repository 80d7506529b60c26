// SPDX-License-Identifier: MIT
// Reads clocks, which the kernel's vDSO does in user space. Needs the C library to find it.
#include <stdlib.h>
#include <time.h>

int main(void) {
  struct timespec first, second;
  if (clock_gettime(CLOCK_MONOTONIC, &first) != 0) return 1;
  if (clock_gettime(CLOCK_MONOTONIC, &second) != 0) return 1;
  return second.tv_sec < first.tv_sec || time(NULL) == 0;
}
