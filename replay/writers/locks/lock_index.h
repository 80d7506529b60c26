// SPDX-License-Identifier: MIT
// A report's facts about each site, found at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/locks/locks.h"

namespace flowback {

// Refers to the report, which must outlive it.
struct LockIndex {
  explicit LockIndex(const LockReport& report);

  struct Site {
    std::vector<const LockSums*> threads;
    std::vector<const LockSums*> paths;
    std::vector<const LockSums*> instances;
    std::vector<const LockHolder*> holders;  // the one that held it longest first
    const LockWait* longest = nullptr;       // null: no wait at it is listed by itself
    size_t rank = 0;                         // in `by_waiting`; beyond its end: not in it
  };
  std::vector<Site> sites;  // by number
  // Sites with waits, or calls that acquire, the one with most waiting first.
  std::vector<uint32_t> by_waiting;
};

}  // namespace flowback
