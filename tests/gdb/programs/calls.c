// SPDX-License-Identifier: MIT
// Calls, loops and recursion with lines to step through. It writes nothing and reads nothing.
static volatile int sink;

static int __attribute__((noinline)) inner(int value) {
  sink += value;
  return value * 3;
}

static int __attribute__((noinline)) middle(int value) {
  int sum = 0;
  for (int i = 0; i < value; ++i)
    sum += inner(i);
  return sum;
}

static int __attribute__((noinline)) recurse(int depth) {
  if (depth == 0)
    return middle(4);
  return recurse(depth - 1) + 1;
}

int main(void) {
  int total = 0;
  for (int round = 0; round < 3; ++round)
    total += recurse(round);
  return total == 0;
}
