// SPDX-License-Identifier: MIT
// Exceptions that are caught in the calling function, and in one further out.
#include <stdexcept>

static volatile int seen;

__attribute__((noinline)) static int fails(int value) {
  if (value % 2 == 0) throw std::runtime_error("even");
  return value;
}

__attribute__((noinline)) static int serve(int value) {
  int got = 0;
  try {
    got = fails(value);
  } catch (const std::exception&) {
    seen += value;
    got = 7;
  }
  return got;
}

int main() {
  int sum = 1;
  sum += serve(2);
  sum += serve(3);
  return sum == 0;
}
