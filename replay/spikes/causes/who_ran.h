// SPDX-License-Identifier: MIT
// Which other threads ran on a thread's CPU while it was off it, by switch records.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/recording.h"
#include "replay/threads/thread_lives.h"

namespace flowback {

struct RanInstead {
  int32_t tid = -1;
  uint64_t time = 0;  // nanoseconds
};

class WhoRan {
 public:
  explicit WhoRan(const Recording& recording) : lives_(recording) {}

  // Returns the threads that ran between two times (perf nanoseconds) on the CPU that the thread
  // had left last while it was on none, the longest time first. Empty: no records.
  std::vector<RanInstead> InsteadOf(int32_t tid, uint64_t begin, uint64_t end) const;

 private:
  ThreadLives lives_;
};

}  // namespace flowback
