// SPDX-License-Identifier: MIT
// Loops, recursion, calls within calls, a switch and calls by pointer. It calls nothing of a library, so that each line
// that it steps to is one of its own.
static volatile int counter;

static int leaf(int value) {
  counter += value;
  return value * 2;
}

static int twice(int value) {
  int first = leaf(value);
  int second = leaf(first);
  return first + second;
}

static int down(int depth) {
  if (depth == 0)
    return leaf(1);
  int below = down(depth - 1);
  if (depth % 2 == 0)
    below += leaf(depth);
  return below;
}

static int chosen(int which) {
  switch (which) {
    case 0:
      return leaf(3);
    case 1:
      return twice(4);
    default:
      return down(2);
  }
}

static int (*const functions[])(int) = {leaf, twice, down, chosen};

static int loops(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    int part = 0;
    while (part < i)
      part += leaf(1);
    sum += twice(leaf(part));
  }
  return sum;
}

int main(void) {
  int total = loops(4);
  for (int i = 0; i < 4; ++i)
    total += functions[i](i);
  total += leaf(leaf(leaf(1)));
  total += down(5);
  return total & 1;
}
