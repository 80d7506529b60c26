// SPDX-License-Identifier: MIT
// Counters beside the trace: read from the kernel, and written as perf writes them, so that `perf
// stat report` and `perf report -T` show them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/record/event_recorder/event_file.h"
#include "capture/record/events/event_ring.h"
#include "capture/record/events/event_set.h"
#include "flowback/model/counters.h"

namespace flowback::record {

// Counters of one recording. The events must outlive it.
class EventCounters {
 public:
  // `interval`: how often they are read while it runs; empty: at its end only.
  EventCounters(const EventSet& events, std::optional<std::chrono::nanoseconds> interval);

  // Writes the descriptions that perf needs before the counts.
  Status Begin(EventFile& file) const;
  // READ records: what threads that ended had. `records` is whole records.
  void Look(const RingPart& records);
  Status ReadIfDue(EventFile& file);
  // Reads and writes all, as they are now.
  Status Read(EventFile& file) { return WriteRound(file, false); }
  // The last reading; and what the threads had that were recorded from the beginning. REQUIRES: all
  // buffers were emptied.
  Status End(EventFile& file);

  // Sums over all threads, as read last.
  const CountedEvents& sums() const { return sums_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status WriteRound(EventFile& file, bool last);
  Status WriteThread(const EventSet::Reading& reading, EventFile& file) const;
  void Sum(const std::vector<EventSet::Reading>& readings);
  size_t ThreadIndex(pid_t thread) const;

  const EventSet* events_;
  const std::optional<std::chrono::nanoseconds> interval_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point due_ = begin_;
  struct Thread {
    pid_t tid = -1;
    pid_t pid = -1;
    std::string comm;
  };
  std::vector<Thread> threads_;  // that events were opened of
  std::vector<int> cpus_;
  std::map<uint64_t, CounterValue> ended_;  // by event id: threads that began later and have ended
  CountedEvents sums_;
};

}  // namespace flowback::record
