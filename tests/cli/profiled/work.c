/* SPDX-License-Identifier: MIT */
/* A program whose profile is worth something: branches with a bias that no compiler can know, a
 * function that is only called rarely, one that is too large to be inlined unless it is known to be
 * hot, a switch, recursion, and a function of a name that the other file has as well. */
#include <stdio.h>
#include <stdlib.h>

long other(long value);

static unsigned Next(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static __attribute__((noinline)) long twice(long value) {
  return value & 64 ? value * 3 : value * 2;
}

static __attribute__((noinline, cold)) long Rare(long value) {
  printf("rare\n");
  return value + 1;
}

/* Too much to be inlined of what nobody knows to be hot. */
static long Mix(long value, long with) {
  for (int i = 0; i < 3; ++i) {
    value = (value ^ with) * 31 + (value >> 7) - (with << 3);
    with = with * 17 + (value & 255) - value / 13 + (with % 11) * 5;
    if (with < 0) with = -with + (value | 5) % 7;
    if ((value & 12) == 4) value += with / 3 + (value >> 9) % 19;
    value ^= (with << 5) + value % 23 - (with | 3) / 9;
  }
  return value + with;
}

static long Step(unsigned operation, long value, long with) {
  switch (operation) {
    case 8:
      return Mix(value, with);
    case 10:
      return Mix(with, value) + Mix(value, 3);
    case 0:
      return Rare(value);
    case 1:
      return value * with + (value >> 3);
    case 2:
      return value ^ with << 2;
    case 3:
      return twice(value) - with;
    case 4:
      return other(value + with);
    case 5:
      return value / (with + 1) + with * 7;
    case 6:
      return value % (with + 3) + with * 5;
    case 7:
      return (value << 3) - (with << 1) + 11;
    default:
      return value + with;
  }
}

static long Depth(long left) { return left == 0 ? 1 : Depth(left - 1) * 3 + twice(left); }

static int Compare(const void* one, const void* other) {
  const int a = *(const int*)one, b = *(const int*)other;
  return a < b ? -1 : a > b;
}

int main(void) {
  static int numbers[500];
  unsigned state = 1;
  long value = 0;
  for (int i = 0; i < 20000; ++i) {
    const unsigned random = Next(&state);
    value = Step(random % 1000 < 3 ? random % 8 + 1 : 9, value, random & 15);
    if (random % 4096 == 5) value += Step(random % 9 + 1, value, random & 7);
  }
  for (int i = 0; i < 500; ++i) numbers[i] = (int)Next(&state);
  qsort(numbers, 500, sizeof *numbers, Compare);
  printf("%ld %d %ld\n", value, numbers[250], Depth(20));
  return 0;
}
