// SPDX-License-Identifier: MIT
// Jumps to an address where nothing is, from a call two deep.
#include "freestanding.h"

__attribute__((noinline)) static void Inner(void (*target)(void)) { target(); }
__attribute__((noinline)) static void Outer(void (*target)(void)) {
  Inner(target);
  __asm__ volatile("nop");
}

long Main(long* stack) {
  (void)stack;
  Outer((void (*)(void))0x1234567890);
  return 0;
}
