// SPDX-License-Identifier: MIT
// Switches as programs have them. Linked without any library, so that code of any width can be.
int sink;

__attribute__((noinline)) int use(int a, int b) {
  sink += a ^ b;
  return sink;
}

#define CASE(n)                   \
  case n:                         \
    a += use(a + (n) * 3, b - n); \
    sink ^= a << ((n) & 7);       \
    break;
#define CASES(n)                                                                      \
  CASE(n)                                                                             \
  CASE((n) + 1) CASE((n) + 2) CASE((n) + 3) CASE((n) + 4) CASE((n) + 5) CASE((n) + 6) \
      CASE((n) + 7)

int dense(int a, int b) {
  switch (b) { CASES(0) CASES(8) CASES(16) CASES(24) }
  return use(a, b);
}

int letters(int a, char b) {
  switch (b) {
    CASES('a')
    CASES('i')
    default:
      return use(b, a);
  }
  return a;
}

int masked(int a, unsigned b) {
  switch (b & 15) { CASES(0) CASES(8) }
  return a;
}

// The table is taken before the loop.
int interpreter(const unsigned char* code, int a) {
  int b = 1;
  for (;;) {
    switch (*code++) {
      CASES(1)
      CASES(9)
      case 0:
        return a;
      case 17:
        code += b;
        break;
      default:
        use(b++, 1);
    }
  }
}

int computed(const unsigned char* code, int a) {
  static const void* const places[] = {&&one, &&two, &&three, &&four};
  goto* places[*code++ & 3];
one:
  use(a, 1);
  goto* places[*code++ & 3];
two:
  a += use(a, 2) * 7;
  goto* places[*code++ & 3];
three:
  a ^= use(a, 3) >> 3;
  goto* places[*code++ & 3];
four:
  return a;
}

int many(int a, int b) {
  switch (a) { CASES(0) }
  switch (b) { CASES(100) CASES(108) }
  switch (a + b) { CASES(-8) CASES(0) }
  return a - b;
}
