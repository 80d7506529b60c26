// SPDX-License-Identifier: MIT
// Overwrites its stack by a function of the C library that stores vectors.
#include <string.h>

static volatile long size = 100;

__attribute__((noinline)) static int Fill(char* room, long bytes) {
  memset(room, 'A', (size_t)bytes);  // CAUSE smashed
  return room[3];
}

__attribute__((noinline)) static int Smash(void) {
  volatile char room[24];
  return Fill((char*)room, size) + room[5];
}  // FAULT smashed

int main(void) { return Smash(); }
