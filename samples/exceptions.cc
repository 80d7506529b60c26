// SPDX-License-Identifier: MIT
// Exceptions through several frames, with destructors on the way.
#include <cstdio>
#include <stdexcept>

namespace {

int destroyed = 0;

struct Guard {
  ~Guard() { ++destroyed; }
};

[[gnu::noinline]] void Descend(int depth) {
  const Guard guard;
  if (depth == 0) throw std::runtime_error("bottom");
  Descend(depth - 1);
  std::puts("never printed");
}

}  // namespace

int main() {
  try {
    Descend(5);
  } catch (const std::exception& error) {
    std::printf("%s, %d destroyed\n", error.what(), destroyed);
  }
  return destroyed == 6 ? 0 : 1;
}
