// SPDX-License-Identifier: MIT
// Overwrites its own return address and dies of it: the stack is useless then, but the trace has
// everything.
#include <stdint.h>
#include <stdio.h>

// Writes behind the array that the caller gave.
__attribute__((noinline)) static void Overflow(uintptr_t* array, int count) {
  for (int i = 0; i < count; ++i) array[i] = 0x4141414141414141;
}

__attribute__((noinline, optimize("no-stack-protector"))) static int Victim(int count) {
  uintptr_t array[2];
  Overflow(array, count);
  return (int)array[0];
}

int main(void) {
  volatile int count = 16;
  puts("about to crash");
  fflush(stdout);
  return Victim(count);
}
