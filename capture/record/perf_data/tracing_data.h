// SPDX-License-Identifier: MIT
// What perf needs to read tracepoints: how the kernel lays out their fields.
#pragma once

#include <vector>

#include "capture/kernel/event_plan.h"
#include "capture/record/perf_data/perf_data_header.h"

namespace flowback::record {

// Returns the feature with the tracepoints among the events. Empty: no event is a tracepoint, or
// tracefs cannot be read.
std::optional<HeaderFeature> TracingDataFeature(const std::vector<kernel::PlannedEvent>& events,
                                                const kernel::SystemKernel& kernel);

}  // namespace flowback::record
