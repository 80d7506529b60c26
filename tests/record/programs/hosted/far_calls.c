// SPDX-License-Identifier: MIT
// Calls from code at low addresses (the program, linked at a fixed place) to code at high ones (the
// C library). Most sync points come in the low code, when the last written address was a high one.
#include <stdlib.h>

int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 300; ++i) {
    unsigned value = (unsigned)rand();
    for (int bit = 0; bit < 400; ++bit)
      if (value >> bit % 31 & 1) sum += (unsigned)bit;
  }
  return sum == 0;
}
