// SPDX-License-Identifier: MIT
// Lines of which some are inlined into several functions.
int sink;

static inline int twice(int a) {
  sink += a;
  return a * 2 + sink;
}

int first(int a) {
  if (a > 3) return twice(a);
  return twice(a + 1) - twice(a * 7);
}

int second(int a) {
  int sum = 0;
  for (int i = 0; i < a; ++i) {
    sum += twice(i);
    if (sum & 1) sum ^= first(i);
  }
  return sum;
}
