// SPDX-License-Identifier: MIT
// Why the kernel does not open an event or map its buffer, and what helps.
#pragma once

#include "capture/kernel/event_plan.h"
#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"

namespace flowback::record {

// `error` is perf_event_open's errno, for that event, on `cpu` or -1.
Error CannotOpen(const kernel::PlannedEvent& event, int cpu, kernel::Errno error,
                 const kernel::SystemKernel& kernel);

// `error` is mmap's errno; `bytes` were asked for each of `buffers`.
Error CannotMap(kernel::Errno error, uint64_t bytes, uint64_t buffers,
                const kernel::SystemKernel& kernel);

}  // namespace flowback::record
