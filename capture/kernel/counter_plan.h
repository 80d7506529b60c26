// SPDX-License-Identifier: MIT
// Chooses the events to count beside the recorded ones, and how: for each thread, as perf's --stat
// does.
#pragma once

#include <vector>

#include "capture/kernel/event_plan.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

// Appends counters of what every machine has, and of what its processors count, but for those that
// `events` samples already. They may be refused without harm. All events are read with their times
// then; those that sample are counters as well. REQUIRES: `events` is a plan by PlanEvents.
// Errors: none but those of ParseEvents.
Status AddCounters(std::vector<PlannedEvent>& events, const SamplingChoice& choice,
                   const std::vector<Pmu>& pmus, const SystemKernel& kernel);

}  // namespace flowback::kernel
