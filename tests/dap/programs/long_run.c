// SPDX-License-Identifier: MIT
// Comes to one line so often that a run through all visits takes seconds.
static volatile int sink;

__attribute__((noinline)) static void visit(int value) {
  sink = value;
}

int main(void) {
  for (int i = 0; i < 5000000; ++i)
    visit(i);
  return sink & 1;
}
