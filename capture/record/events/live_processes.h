// SPDX-License-Identifier: MIT
// Which of the recorded processes run now, by the kernel's records: a file that goes on where
// another ended begins with them.
#pragma once

#include <sys/types.h>

#include <set>
#include <utility>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/events/record_walk.h"

namespace flowback::record {

class LiveProcesses {
 public:
  void Add(pid_t pid) { pids_.insert(pid); }
  // Accepts records in any order: a process that ended before its fork record stays listed, but is
  // gone when looked at.
  void Note(const RingRecord& record) {
    // pid, parent's pid, tid, parent's tid
    const auto pid = static_cast<pid_t>(record.Word(0));
    const auto tid = static_cast<pid_t>(record.Word(8));
    if (record.type == perf::kRecordFork) pids_.insert(pid);
    if (record.type == perf::kRecordExit && pid == tid) ended_.push_back(pid);
  }
  // Keeps ended processes until their records in other buffers have been looked at.
  void EndRound() {
    for (const pid_t pid : gone_) pids_.erase(pid);
    gone_ = std::exchange(ended_, {});
  }
  bool Has(pid_t pid) const { return pids_.contains(pid); }
  std::vector<pid_t> All() const { return {pids_.begin(), pids_.end()}; }

 private:
  std::set<pid_t> pids_;
  std::vector<pid_t> ended_, gone_;  // in this round; in the one before
};

}  // namespace flowback::record
