// SPDX-License-Identifier: MIT
// The threads and CPUs that events are opened for.
#pragma once

#include <sys/types.h>

#include <vector>

#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::record {

struct EventTarget {
  std::vector<pid_t> threads;  // -1: all threads
  std::vector<int> cpus;       // -1: whichever the thread is on

  bool of_cpus() const { return threads.size() == 1 && threads[0] < 0; }
  bool per_thread() const { return cpus.size() == 1 && cpus[0] < 0; }
};

// `command` is the process that was started and waits for its exec; -1: none was. Errors: kUsage,
// kSystem (no such process or thread), kNoHardware (no such CPU).
Result<EventTarget> FindTarget(const RecordOptions& options, pid_t command,
                               const kernel::SystemKernel& kernel);

// Whether the kernel runs anything there.
bool IsOnline(const kernel::SystemKernel& kernel, int cpu);

}  // namespace flowback::record
