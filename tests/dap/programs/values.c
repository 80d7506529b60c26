// SPDX-License-Identifier: MIT
// Dies with variables of several kinds in two frames.
struct pair {
  int first;
  int second;
};

static volatile int sink;

static int inner(int number, char letter, double fraction, int* nothing) {
  unsigned long large = 1234567890123UL;
  struct pair both = {number, 2};
  _Bool yes = number > 0;
  short negative = -5;
  sink = both.second + yes + negative + (int)fraction + letter + (int)large;
  return *nothing;
}

int main(void) {
  int outer = 41;
  int* none = 0;
  return inner(outer + 1, 'x', 2.5, none) + outer;
}
