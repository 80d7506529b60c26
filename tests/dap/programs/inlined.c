// SPDX-License-Identifier: MIT
// Functions that are inlined: into one another, side by side, at the begin of a line, and around a
// call. Volatile accesses keep their order with optimisation.
static volatile int sink;

#define INLINED static inline __attribute__((always_inline))

INLINED int innermost(int value) {
  sink = value;
  return sink + 1;
}

INLINED int middle(int value) {
  int first = innermost(value);
  sink = first;
  return innermost(first + 1);
}

__attribute__((noinline, noclone)) static int called(int value) {
  sink = value;
  return sink + value;
}

INLINED int around(int value) {
  int result = called(value);
  sink = result;
  return result;
}

int main(void) {
  sink = 1;
  int one = middle(2);
  sink = 3;
  int two = innermost(4);
  int three = innermost(5);
  sink = called(6);
  int four = around(7);
  return (one + two + three + four) & 1;
}
