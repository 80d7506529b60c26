// SPDX-License-Identifier: MIT
// Threads' lives by the records, on any CPU, in perf nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "flowback/model/recording.h"
#include "replay/threads/time_slot.h"

namespace flowback {

// A time on some CPU.
struct LifeStay {
  uint64_t begin = 0;
  uint64_t end = kOpenTime;
  bool begin_told = true;
  bool missing = false;  // between two records of one kind: it was on a CPU for a part of it
  int32_t cpu = -1;      // of the first record with it; -1: unknown
};

// A number that several threads had one after the other has one life, from the first one's begin
// to the last one's end.
class ThreadLives {
 public:
  explicit ThreadLives(const Recording& recording);

  // All recorded threads, in ascending order.
  std::vector<int32_t> Tids() const;
  // By FORK, or where tracing of it began.
  std::optional<uint64_t> BornAt(int32_t tid) const;
  std::optional<uint64_t> ExitedAt(int32_t tid) const;
  // In time order, without overlap. Null: no record of when it was switched in or out.
  const std::vector<LifeStay>* StaysOf(int32_t tid) const;
  // First and last time of all records that carry one.
  uint64_t first() const { return first_; }
  uint64_t last() const { return last_; }
  // The trace is snapshots of a buffer that was written round and round.
  bool overwrites() const { return overwrites_; }

 private:
  struct Life {
    std::optional<uint64_t> born;
    std::optional<uint64_t> exited;
    std::vector<LifeStay> stays;
    bool running = false;
    bool switched = false;  // from a SWITCH record
    bool started = false;   // the last "in" is an ITRACE_START
    uint64_t out = 0;
  };

  static void In(Life& life, const SidebandBase& record, bool started);
  static void Out(Life& life, const SidebandBase& record);
  const Life* Find(int32_t tid) const;

  std::map<int32_t, Life> lives_;
  uint64_t first_ = kOpenTime;
  uint64_t last_ = 0;
  bool overwrites_ = false;
};

}  // namespace flowback
