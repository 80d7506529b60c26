// SPDX-License-Identifier: MIT
// Why the kernel does not open an event or map its buffer, and what helps.
#pragma once

#include "capture/kernel/event_plan.h"
#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"

namespace flowback::record {

// The thread or CPU that an event was opened for.
struct OpenedWhere {
  int cpu = -1;          // -1: whichever the thread is on
  bool of_cpus = false;  // all threads on the CPUs
};
// `error` is perf_event_open's errno, for that event.
Error CannotOpen(const kernel::PlannedEvent& event, OpenedWhere where, kernel::Errno error,
                 const kernel::SystemKernel& kernel);

// `error` is mmap's errno; `bytes` were asked for each of `buffers`.
Error CannotMap(kernel::Errno error, uint64_t bytes, uint64_t buffers,
                const kernel::SystemKernel& kernel);

}  // namespace flowback::record
