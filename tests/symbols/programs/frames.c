/* SPDX-License-Identifier: MIT
 * Frames of several kinds, for tables that tell how their callers are found. */
#include <stdlib.h>
#include <string.h>

static volatile int sink;

__attribute__((noinline)) static int leaf(int a) {
  sink = a;
  return a + 1;
}

__attribute__((noinline)) static int saves_registers(int a, int b, int c) {
  int x = leaf(a), y = leaf(b), z = leaf(c);
  return leaf(x) + leaf(y) * leaf(z) + x * y * z;
}

__attribute__((noinline)) static int moves_its_stack(int a) {
  char *room = __builtin_alloca((size_t)(a & 63) + 16);
  memset(room, a, 16);
  return leaf(room[a & 15]) + saves_registers(a, a + 1, a + 2);
}

__attribute__((noinline)) static int large(int a) {
  char room[5000];
  memset(room, a, sizeof room);
  return moves_its_stack(room[a & 4095]);
}

int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 10); ++i) sum += large(i);
  return sum == 12345;
}
