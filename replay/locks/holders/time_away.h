// SPDX-License-Identifier: MIT
// When threads were off their CPUs, and whether because other threads ran instead.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/time_account.h"
#include "replay/threads/time_slot.h"

namespace flowback {

class TimeAway {
 public:
  struct Sum {
    uint64_t off_cpu = 0;
    uint64_t preempted = 0;  // of that
  };

  // `accounts` are the threads', by number; null: nothing is known of one's times.
  TimeAway(const Recording& recording, std::vector<const TimeAccount*> accounts);

  // Returns the sum of a thread between two times.
  Sum Between(uint32_t thread, uint64_t begin, uint64_t end);

  // It left the CPU by itself, and came back.
  struct Sleep {
    TimePoint begin;
    TimePoint end;
  };
  // Returns the sleeps that begin between two times, in order.
  std::vector<Sleep> SleepsBetween(uint32_t thread, uint64_t begin, uint64_t end);

 private:
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t begin_lo = 0;
    uint64_t begin_hi = 0;
    uint64_t end_lo = 0;
    uint64_t end_hi = 0;
    bool preempted = false;
    Sum before;  // of the thread's spans before this one
  };

  const std::vector<Span>& SpansOf(uint32_t thread);
  bool IsPreempted(int32_t tid, const ClassSpan& span) const;
  static Sum UpTo(const std::vector<Span>& spans, uint64_t time);

  std::vector<const TimeAccount*> accounts_;
  std::map<int32_t, std::vector<SwitchRecord>> leaves_;  // by thread: in the order of time
  std::map<uint32_t, std::vector<Span>> spans_;
};

}  // namespace flowback
