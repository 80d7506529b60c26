// SPDX-License-Identifier: MIT
// Writes to a null pointer. Its only data has no byte in the file.
static volatile char room[100000];

void _start(void) {
  room[5] = 1;
  *(volatile int*)0 = room[5];
  for (;;) {
  }
}
