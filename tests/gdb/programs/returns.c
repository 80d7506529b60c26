// SPDX-License-Identifier: MIT
// Functions that return structures in registers and in memory.
struct pair {
  long first, second;
};
struct many {
  long all[9];
};

static struct pair pair(long value) { return (struct pair){value, value}; }
static struct many many(long value) { return (struct many){{value, value}}; }
static void nothing(void) {}

int main(void) {
  struct pair two;
  struct many nine;
  two = pair(3);
  nine = many(4);
  nothing();
  return two.first + nine.all[0] == 0;
}
