// SPDX-License-Identifier: MIT
// A program of the C library whose main function has no lines (-DNO_LINES), but what it calls has.
int leaf(int value);

#ifdef NO_LINES
int main(void) {
  int sum = leaf(1);
  sum += leaf(2);
  return sum & 1;
}
#else
static volatile int sink;

int leaf(int value) {
  sink = value;
  return sink;
}
#endif
