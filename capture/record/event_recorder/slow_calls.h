// SPDX-License-Identifier: MIT
// Which calls of a function took too long, by the moments of their beginnings and ends.
//
// A probe at the function's first instruction and one at its return each record thread, time and
// stack pointer. An end belongs to the latest beginning of its thread whose frame it leaves: below
// it on the stack, where exceptions and longjmp may have left frames that never return.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "flowback/capture/record.h"

namespace flowback::record {

struct ProbeHit {
  uint64_t time = 0;  // nanoseconds of the records' clock
  pid_t tid = -1;
  uint64_t stack = 0;  // the stack pointer
  bool returns = false;
  size_t buffer = 0;  // in which it was recorded
};

struct SlowCall {
  pid_t tid = -1;
  uint64_t begin = 0, end = 0;
  std::set<size_t> buffers;  // of those that its thread ran on meanwhile
};

class SlowCalls {
 public:
  explicit SlowCalls(uint64_t slow_ns) : slow_ns_(slow_ns) {}

  void Add(const ProbeHit& hit) { hits_.push_back(hit); }
  // The thread ran there.
  void NoteThread(pid_t tid, size_t buffer);
  // It has ended; what it did before may stand in buffers that were not looked at yet.
  void EndThread(pid_t tid) { ended_.push_back(tid); }
  // All buffers were looked at once: what ended slow since the last time, in order of time. An end
  // whose beginning stands in a buffer that was looked at too early waits for one round more.
  std::vector<SlowCall> EndRound();
  // Whether an end waits so.
  bool waits() const { return !hits_.empty(); }

  SlowCallCounts& counts() { return counts_; }

 private:
  struct Open {
    uint64_t time = 0;
    uint64_t stack = 0;
    std::set<size_t> buffers;
  };
  void Begin(const ProbeHit& hit);
  // False: no beginning is known.
  bool End(const ProbeHit& hit, std::vector<SlowCall>& slow);

  const uint64_t slow_ns_;
  std::vector<ProbeHit> hits_;
  std::set<std::pair<pid_t, uint64_t>> waited_;  // ends, by thread and time
  std::map<pid_t, std::vector<Open>> threads_;   // the innermost call last
  std::vector<pid_t> ended_, gone_;              // threads: in this round; in the one before
  SlowCallCounts counts_;
};

}  // namespace flowback::record
