// SPDX-License-Identifier: MIT
// Sideband in time order, out of buffers that each CPU filled on its own.
#pragma once

#include <deque>
#include <vector>

#include "flowback/model/recording.h"

namespace flowback {

// perf empties all buffers in turn, and says FINISHED_ROUND behind each turn. What a buffer got
// before the turn began is out when it ends, so a record of round N + 1 is never older than the
// newest of round N - 1:
//
//      round 1: 10 12 | 11 14    round 2: 13 16 | 15    round 3: 17 ...
//                       ^ at the end of round 2 all up to 14 are certain to be in order
//
// So the merge holds two rounds and no more. A record without time is put out at once: it describes
// the state when it was written.
class TimeOrder {
 public:
  void Add(SidebandRecord record);
  // No record that is still to come is older than the newest of the round before.
  void FinishRound();
  // All of them, in order; also those that came after their round, which a lying file may hold:
  // `late()` says how many.
  std::vector<SidebandRecord> Take() &&;
  uint64_t late() const { return late_; }

 private:
  void Flush(uint64_t limit);

  // Each record is many times as large as in its file: none is held twice, not even while more room
  // is made.
  std::deque<SidebandRecord> done_;
  std::deque<SidebandRecord> waiting_;
  uint64_t newest_ = 0;      // of all
  uint64_t last_round_ = 0;  // the newest at the end of the round before
  uint64_t newest_done_ = 0;
  uint64_t late_ = 0;
};

}  // namespace flowback
