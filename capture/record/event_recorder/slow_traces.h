// SPDX-License-Identifier: MIT
// The trace of slow calls, cut out of the latest trace.
#pragma once

#include <vector>

#include "capture/record/event_recorder/event_file.h"
#include "capture/record/event_recorder/slow_calls.h"
#include "capture/record/events/event_set.h"

namespace flowback::record {

// Writes the trace of each slow call from the buffers that its thread ran on: from the sync point
// before the call begins to the first one after it ends. Trace that two calls share is written
// once. Counts the calls whose beginning was already overwritten. Adds the number of bytes written
// to `bytes`. REQUIRES: traces stand still, and their records are in the file.
Status KeepSlowTraces(const EventSet& events, const std::vector<SlowCall>& calls, EventFile& file,
                      SlowCallCounts& counts, uint64_t& bytes);

}  // namespace flowback::record
