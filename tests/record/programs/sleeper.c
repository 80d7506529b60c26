// SPDX-License-Identifier: MIT
// Sleeps a second, then works a little and ends with status 7.
#include "freestanding.h"

long Main(long* stack) {
  (void)stack;
  const struct Time second = {1, 0};
  SystemCall(kNanosleep, (long)&second, 0, 0);
  for (volatile int i = 0; i < 50; ++i) {
  }
  return 7;
}
