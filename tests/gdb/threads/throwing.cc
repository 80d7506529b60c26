// SPDX-License-Identifier: MIT
// Threads that throw exceptions and catch them, at the same time.
#include <stdexcept>
#include <thread>
#include <vector>

#define KEPT __attribute__((noinline, noclone))

static volatile int seen[3];

KEPT static int fails(int value) {
  if (value % 2 == 0) throw std::runtime_error("even");
  return value;
}

KEPT static int serve(int thread, int value) {
  try {
    return fails(value);
  } catch (const std::exception&) {
    seen[thread] += value;
    return 0;
  }
}

KEPT static void work(int thread) {
  for (int i = 0; i < 8; ++i) seen[thread] += serve(thread, i);
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}
