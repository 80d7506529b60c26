// SPDX-License-Identifier: MIT
// Two threads come to a lock by calls that end in jumps to other functions, with long work between.
#include <array>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static thread_local std::array<unsigned long, 1024> table;

[[gnu::noinline]] static unsigned long Work(unsigned long seed) {
  constexpr unsigned kRounds = 60'000;
  for (unsigned i = 0; i < kRounds; ++i) {
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    if ((seed >> 40 & 1) != 0) table[seed >> 20 & 1023] += seed;
    table[i & 1023] ^= seed;
  }
  return seed;
}

[[gnu::noinline]] static void Last(unsigned long seed) {
  seed = Work(seed);
  const std::lock_guard guard(lock);
  table[0] += Work(seed);
}

[[gnu::noinline]] static void Middle(unsigned long seed) {
  seed = Work(seed);
  Last(seed);
}

[[gnu::noinline]] static void First(unsigned long seed) {
  seed = Work(seed);
  Middle(seed);
}

static void Come(unsigned long seed) {
  for (unsigned i = 0; i < 4; ++i) {
    seed = Work(seed);
    First(seed + i);
    table[1] ^= seed;
  }
}

int main() {
  std::thread one(Come, 1);
  std::thread two(Come, 2);
  one.join();
  two.join();
  std::puts("done");
}
