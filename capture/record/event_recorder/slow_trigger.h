// SPDX-License-Identifier: MIT
// `--trigger 'FUNC>5ms'`: probes in the recorded programs record when calls of a function begin and
// end, on any thread; the trace of those that were slow is kept.
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "capture/record/event_recorder/slow_calls.h"
#include "capture/record/events/event_set.h"
#include "capture/record/events/live_processes.h"
#include "capture/record/events/record_walk.h"
#include "capture/record/watch/function_name.h"

namespace flowback::record {

class SlowTrigger {
 public:
  // Finds the function in the command's file, in the files of the processes that run already, or in
  // the one that is named with it. Errors: kUsage (no such function), kUnsupported (no probes).
  static Result<SlowTrigger> Find(const RecordOptions& options,
                                  const std::vector<kernel::Pmu>& pmus);

  // Two events for each place. This must outlive them, and stay where it is until they are opened.
  void AddEvents(std::vector<kernel::WantedEvent>& wanted) const;
  // They were opened: from now on their records are known.
  void Opened(const EventSet& events);

  // A record of that buffer.
  void Note(const RingRecord& record, size_t buffer);
  // All buffers were looked at once. Probes see every process on a CPU: only calls of processes in
  // `live` count, if it is not null. A new process may have its record in a buffer that was looked
  // at too early: its hits wait for one round more.
  std::vector<SlowCall> EndRound(const LiveProcesses* live);
  bool waits() const { return calls_.waits() || !unknown_.empty(); }
  SlowCalls& calls() { return calls_; }
  const SlowCalls& calls() const { return calls_; }
  // Where the function is: "f in /usr/bin/x at 0x1139".
  std::vector<std::string> Places() const;

 private:
  struct Place {
    std::string path;
    uint64_t offset = 0;
  };
  struct Hit {
    ProbeHit hit;
    pid_t pid = -1;
    bool waited = false;
  };
  struct Probe {
    uint64_t sample_type = 0;
    bool is_probe = false;
    bool returns = false;
  };
  SlowTrigger(const kernel::Pmu& pmu, FunctionName function, uint64_t slow_ns)
      : pmu_(&pmu), function_(std::move(function)), calls_(slow_ns) {}
  kernel::WantedEvent EventAt(const Place& place, bool returns) const;

  const kernel::Pmu* pmu_;
  FunctionName function_;
  std::list<Place> places_;           // the events point to the paths
  std::map<uint64_t, Probe> events_;  // all that are open, by number
  std::vector<Hit> unknown_;          // of processes that nothing is known of yet
  SlowCalls calls_;
};

// Where a sample has a thread, a time and the stack pointer. The events have few fields more.
inline constexpr uint64_t kProbeSampleType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER;

}  // namespace flowback::record
