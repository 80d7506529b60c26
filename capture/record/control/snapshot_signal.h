// SPDX-License-Identifier: MIT
// SIGUSR2 asks for a snapshot, as it does of perf record.
#pragma once

#include <signal.h>

#include <chrono>

namespace flowback::record {

// Keeps the signal from its default action in the calling thread, and in those it starts, while
// this lives. A late request for a snapshot must not end the caller, which has a report to write:
// afterwards the process ignores the signal, unless it has a handler of its own.
class SnapshotSignal {
 public:
  // Does nothing when `wanted` is false.
  explicit SnapshotSignal(bool wanted);
  ~SnapshotSignal();
  SnapshotSignal(const SnapshotSignal&) = delete;
  SnapshotSignal& operator=(const SnapshotSignal&) = delete;

  // Whether it came within that time.
  bool Wait(std::chrono::milliseconds time) const;

 private:
  bool wanted_;
  sigset_t before_;
};

}  // namespace flowback::record
