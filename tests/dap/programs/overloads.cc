// SPDX-License-Identifier: MIT
// Functions that share a name, in C++, and calls of the C library.
#include <unistd.h>

#include <cstdio>

namespace {

volatile int sink;

__attribute__((noinline)) int pick(int value) { return sink = value; }

}  // namespace

namespace outer {

__attribute__((noinline)) int pick(int a, int b) { return sink = a + b; }

namespace inner {

__attribute__((noinline)) int pick(int a, int b) { return sink = a - b; }

template <class T>
__attribute__((noinline)) T made(T value) {
  sink = static_cast<int>(value);
  return value;
}

}  // namespace inner
}  // namespace outer

int main() {
  pick(1);
  outer::pick(2, 3);
  outer::inner::pick(4, 5);
  outer::inner::made(6);
  outer::inner::made(7L);
  std::printf("%d\n", sink);
  std::fflush(stdout);
  return write(STDOUT_FILENO, "", 0) != 0 ? 1 : 0;
}
