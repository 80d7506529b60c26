// SPDX-License-Identifier: MIT
// Which part of a thread's time it spent waiting: of each class of time, and when.
//
//   class   executing ......... | kernel ........ | executing .......
//   waits              [ spins  |  sleeps         |  spins ]
//   shares  executing  |spinning|  sleeping       |spinning| executing
//
// A class has spinning and sleeping as parts of its own, so the classes still add up to the life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/time_account.h"
#include "flowback/replay/timeline.h"
#include "replay/timeline/time_strip.h"

namespace flowback {

struct WaitShareOptions {
  bool wanted = false;
  size_t columns = 0;      // of the strips; 0: no strips are made
  size_t most_strips = 0;  // as TimelineOptions::most_strips
  bool spans = false;      // ThreadWaits::spans
};

// How much of each class of time a thread spent spinning and sleeping.
struct WaitTimes {
  ClassTimes spinning{};
  ClassTimes sleeping{};
};
// Returns what all classes have together.
uint64_t SumOf(const ClassTimes& times);

// A time in which a thread spins or sleeps.
struct WaitStretch {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool sleeps = false;
};

struct ThreadWaits {
  WaitTimes times;                  // of the thread's life, cut to LockOptions::span
  std::vector<WaitTimes> strip;     // as ThreadTimeline::strip has its columns; empty: no wait, or
                                    // the thread has no strip
  std::vector<WaitStretch> spans;   // in order, without overlap; where they are wanted
  bool has_too_many_spans = false;  // `spans` is empty, as they are more than kMostWaitStretches
};
inline constexpr size_t kMostWaitStretches = size_t{1} << 16;

// Splits one thread's time. Keeps a million waits at most: one that encloses more of them counts
// from the last of these on.
class WaitShares {
 public:
  // `account`, with spans, must outlive it. `lives`: the time that the columns divide.
  WaitShares(const TimeAccount& account, const TimeSpan& wanted, const TimeSpan& lives,
             const WaitShareOptions& options, bool has_strip);

  // A wait, and the time of a system call in which it sleeps; in any order.
  void AddWait(uint64_t begin, uint64_t end);
  void AddSleep(uint64_t begin, uint64_t end);
  ThreadWaits Take();

 private:
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  void Flush();
  void Tell(uint64_t begin, uint64_t end, bool sleeps);
  void Keep(uint64_t begin, uint64_t end, bool sleeps);

  const TimeAccount& account_;
  const TimeSpan life_;
  const bool wants_spans_;
  const bool has_strip_;
  TimeStrip spinning_;
  TimeStrip sleeping_;
  std::vector<Span> waits_;
  std::vector<Span> sleeps_;
  size_t class_at_ = 0;  // the span of the account in which the next item begins, or later
  uint64_t from_ = 0;    // all before has been handled
  ThreadWaits told_;
};

}  // namespace flowback
