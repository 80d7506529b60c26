// SPDX-License-Identifier: MIT
// A function of a shared library, which is bound at its first call; with PROGRAM defined, what calls it.
#ifdef PROGRAM
int mine(int number);

int main(int count, char **words) {
  (void)words;
  int value = 1 + count;
  value += mine(value);
  value += mine(value);
  return value > 1000;
}
#else
int mine(int number);

int mine(int number) {
  int more = number + 1;
  return more * 2;
}
#endif
