// SPDX-License-Identifier: MIT
// Which thread ran when on the CPU whose trace a stream is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// How well one end of a stay is known.
enum class Bound : uint8_t {
  kKnown,   // a record says so
  kHinted,  // other records leave no other thread: before the first record, after a lost one
  kOpen,    // the recording's own begin or end
};

// A thread's time on a CPU, from being switched in to being switched out. Perf nanoseconds.
struct ThreadStay {
  uint64_t begin = 0;
  uint64_t end = ~uint64_t{0};
  int32_t pid = -1;
  int32_t tid = -1;  // -1: unknown
  // If they do not: the thread switched in at its begin, and out at its end; -1: unknown.
  int32_t first_tid = -1;
  int32_t last_tid = -1;
  Bound begin_bound = Bound::kOpen;
  Bound end_bound = Bound::kOpen;
  std::shared_ptr<const AddressSpaceHistory> code;  // of the process
  // Only in Schedule::moves: begin and end by the trace.
  uint64_t begin_tsc = 0;
  uint64_t end_tsc = ~uint64_t{0};
};

// By begin, without overlap. Between two stays the CPU was idle, or records were lost.
struct Schedule {
  std::span<const ThreadStay> stays;  // in `storage`
  std::shared_ptr<const std::vector<ThreadStay>> storage;
  // Other buffers hold trace of the same CPU; they have the same stays, in the same storage.
  bool shared = false;
  // The recording has one thread only, on all CPUs: trace between its stays is its own, too.
  bool alone = false;
  ThreadStay nobody;  // for trace that no stay can be shown to have made
  ThreadStay behind;  // the same for trace behind the last stay, whose end is its begin
  // The same for trace that one of two stays in succession made. Never moved.
  std::deque<ThreadStay> between;
  // The stream's parts, where it is all of one thread's and that was on other CPUs in between. By
  // begin; where the recording has no conversion, their begins give only the order. Never moved.
  std::deque<ThreadStay> moves;
};

// From the packet at `offset` on, the stream is `stay`'s. No two changes of a stream have the same.
struct StayChange {
  uint64_t offset = 0;
  const ThreadStay* stay = nullptr;
};

}  // namespace flowback
