// SPDX-License-Identifier: MIT
// When a thread held something that others may have waited for, and when it waited itself.
//
//   pthread_mutex_lock  ...........]  holds  [.......  pthread_mutex_unlock
//                earliest        begin      end     latest
//
// Somewhere within the functions that acquire and release the thread comes to hold it, and no
// longer does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace flowback {

struct Hold {
  uint32_t thread = 0;
  uint32_t site = 0;
  uint64_t address = 0;  // of the lock; 0: not known
  uint64_t earliest = 0;
  uint64_t begin = 0;
  uint64_t end = 0;     // it has begun to release it
  uint64_t end_lo = 0;  // the proven bounds of `end`
  uint64_t latest = 0;
  bool likely = false;  // the function that acquires may have failed
  bool open = false;    // it was not released
  bool again = false;   // the thread tried more than once to acquire that lock

  // It tried to acquire something and has not released it: mostly it had failed.
  bool is_doubtful() const { return likely && open; }
};

struct HoldWait {
  uint32_t thread = 0;
  uint32_t site = 0;
  uint64_t address = 0;  // of the lock
  uint64_t begin = 0;
  uint64_t begin_lo = 0;
  uint64_t begin_hi = 0;
  uint64_t end = 0;
  uint64_t position = 0;  // LockWait::position
  bool open = false;      // it did not end
};

// Whether the held lock may be the one that another thread waits for, by their addresses.
inline bool MayBeSame(uint64_t held, uint64_t wanted) {
  return held == 0 || wanted == 0 || held == wanted;
}

// What threads did with locks of one family.
struct HoldFamily {
  std::vector<Hold> holds;
  std::vector<HoldWait> waits;
  bool is_shared = false;   // several threads may hold one
  bool is_kernels = false;  // threads of all processes share them
  bool is_released = true;  // else threads acquire without releasing: who holds is not known
  // Else what a thread tried to acquire was forgotten, and it may hold it: nothing is certain.
  bool is_whole = true;
};

// A thread has acquired something.
struct Acquired {
  uint32_t site = 0;
  std::string_view family;
  uint64_t earliest = 0;  // as in Hold
  uint64_t time = 0;
  uint64_t address = 0;
  bool likely = false;
};

}  // namespace flowback
