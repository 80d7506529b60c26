// SPDX-License-Identifier: MIT
// A dynamically linked program: most of what it executes is the loader.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
