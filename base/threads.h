// SPDX-License-Identifier: MIT
// Threads, as many as the system gives.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace flowback {

// Starts threads that run work(0), work(1), ... up to `count`, or fewer where a limit of the system
// or of memory is reached: work that threads share goes on with those that are there. Throws
// std::bad_alloc; those that run are in `threads` even then.
template <class Work>
void StartThreads(std::vector<std::jthread>& threads, size_t count, const Work& work) {
  threads.reserve(threads.size() + count);
  for (size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error&) {
      return;
    }
  }
}

}  // namespace flowback
