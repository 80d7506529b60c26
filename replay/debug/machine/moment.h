// SPDX-License-Identifier: MIT
// A moment of a recording: what every thread had executed by then.
//
// All places of all threads have one order: by time, where times are equal by the thread's number,
// within a thread as the thread executed them. The bounds of two threads' times often overlap, so
// the order of their places is then a choice, and always the same one. Without times the threads
// follow one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "flowback/replay/thread_cursor.h"

namespace flowback {

// One thread stands at a place, which it has not executed. The others have executed all
// instructions before that place in the order of all places.
struct MachineMoment {
  uint64_t order = 0;  // the time of the place and one; 0: before all that any thread executed
  size_t thread = 0;   // the machine's number of it
  ThreadCursor::Place place;

  friend bool operator<(const MachineMoment& a, const MachineMoment& b) {
    return std::tie(a.order, a.thread, a.place.share, a.place.item, a.place.within) <
           std::tie(b.order, b.thread, b.place.share, b.place.item, b.place.within);
  }
  friend bool operator==(const MachineMoment& a, const MachineMoment& b) {
    return !(a < b) && !(b < a);
  }
};

}  // namespace flowback
