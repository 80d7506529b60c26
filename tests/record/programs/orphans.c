// SPDX-License-Identifier: MIT
// Ends, with status 5, while its child still waits for its standard input to end or to say "e".
#include "freestanding.h"

long Main(long* stack) {
  (void)stack;
  if (SystemCall(kFork, 0, 0, 0) == 0) {
    char byte;
    while (SystemCall(kRead, 0, (long)&byte, 1) > 0 && byte != 'e') {
    }
    Exit(0);
  }
  return 5;
}
