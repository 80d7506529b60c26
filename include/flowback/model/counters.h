// SPDX-License-Identifier: MIT
// Counters recorded beside the trace: how often events happened, in all and by thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowback {

// A counter, as it was read. Counters are fewer than events may be: it counted for `running` of the
// `enabled` nanoseconds, and other events had it meanwhile.
struct CounterValue {
  uint64_t value = 0;
  uint64_t enabled = 0;
  uint64_t running = 0;

  bool multiplexed() const { return running < enabled; }
  // Returns the value extrapolated to the whole enabled time; 0: it never counted.
  uint64_t scaled() const {
    if (!multiplexed() || running == 0) return value;
    return static_cast<uint64_t>(static_cast<double>(value) * static_cast<double>(enabled) /
                                 static_cast<double>(running));
  }
  CounterValue& operator+=(const CounterValue& other) {
    value += other.value;
    enabled += other.enabled;
    running += other.running;
    return *this;
  }
  bool operator==(const CounterValue&) const = default;
};

// An event that was counted, and how often it was in all that was recorded: also in threads that
// ended before.
struct EventCounter {
  std::string name;        // "cycles:up", "task-clock" (in nanoseconds)
  unsigned precision = 0;  // skid: 0 any, 1 constant, 2 none wanted, 3 none (":p", ":pp", ":ppp")
  CounterValue total;
};

// The count of one thread. Threads that still ran when the recording ended are counted with the
// first thread, because perf does not separate them.
struct ThreadCount {
  int32_t pid = -1;
  int32_t tid = -1;
  size_t event = 0;  // of CountedEvents::events
  CounterValue value;
};

struct CountedEvents {
  std::vector<EventCounter> events;
  std::vector<ThreadCount> threads;  // those of a thread together, in the order of their events
  uint64_t readings = 0;             // rounds in which all were read, the last one among them

  bool empty() const { return events.empty(); }
};

}  // namespace flowback
