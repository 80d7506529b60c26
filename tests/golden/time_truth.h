// SPDX-License-Identifier: MIT
// When instructions of generated recordings really executed.
//
// `truth-cpuN.tsc` has the time of every instruction; it exists for the small recording only.
// Elsewhere events.txt.gz has the times of system calls, and of the first instruction after each
// time that tracing was off.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace flowback::golden {

// The words of each line of a gzip file.
std::vector<std::vector<std::string>> ReadCompressedTable(const std::string& file);

// Instruction `index` of the stream, lost ones counted, executed at `tsc`.
struct TrueTime {
  uint64_t index = 0;
  uint64_t tsc = 0;
};

// By index. `every`: the times of all instructions; empty where the recording has none.
struct TimeTruth {
  std::vector<TrueTime> points;
  std::vector<uint64_t> every;
};

// `folder`: the recording's. Fails the running test where it can't be read.
TimeTruth ReadTimeTruth(const std::string& folder, unsigned cpu);

// What a thread's times were, by events.txt.gz, in TSC ticks.
struct ThreadTruth {
  uint64_t executing = 0;
  // From where tracing started to the end of the fault or interrupt that stopped it: its begin is
  // unknown, so a part of it is the kernel's. None where every instruction's time is known.
  uint64_t until_async = 0;
  uint64_t overflowed = 0;                           // of both: while the buffer was full
  std::vector<std::pair<uint64_t, uint64_t>> stays;  // on a CPU: in, and out or exit
};
std::map<int32_t, ThreadTruth> ReadThreadTruth(const std::string& folder);

// For each overflow: how many instructions the packets before it prove, and the index of the first
// instruction after it.
struct OverflowGap {
  uint64_t proven = 0;
  uint64_t told_again = 0;
};
std::vector<OverflowGap> ReadOverflowGaps(const std::string& folder, unsigned cpu);

}  // namespace flowback::golden
