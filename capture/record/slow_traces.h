// SPDX-License-Identifier: MIT
// The trace of slow calls, cut out of the latest trace.
#pragma once

#include <vector>

#include "capture/record/event_file.h"
#include "capture/record/event_set.h"
#include "capture/record/slow_calls.h"

namespace flowback::record {

// Writes, of the buffers that each call's thread ran on, what was traced from the sync point before
// its beginning to the one behind its end; what two calls have in common once. Counts the calls
// whose beginning is not there any more. `bytes` grows by what was written. REQUIRES: traces stand
// still, and their records are in the file.
Status KeepSlowTraces(const EventSet& events, const std::vector<SlowCall>& calls, EventFile& file,
                      SlowCallCounts& counts, uint64_t& bytes);

}  // namespace flowback::record
