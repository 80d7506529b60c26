// SPDX-License-Identifier: MIT
// perf's way to say which events: what stands behind `-e`.
#pragma once

#include <string_view>
#include <vector>

#include "capture/kernel/wanted_event.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

// Events with commas between them: `intel_pt/cyc=1/u`, `cpu/event=0x3c,umask=1/pp`, `cycles:k`,
// `r1a8`, `L1-dcache-load-misses`, `mem:0x1000/8:rw`, `sched:sched_switch`, `{a,b}:S`. `pmus` must
// outlive the events. On hybrid machines, what each kind of core has its own of becomes several.
// Errors: kUsage, kNoHardware (a PMU or tracepoint that is not there), kUnsupported.
Result<std::vector<WantedEvent>> ParseEvents(std::string_view text, const std::vector<Pmu>& pmus,
                                             const SystemKernel& kernel);

}  // namespace flowback::kernel
