// SPDX-License-Identifier: MIT
// The samples of a recording, in the trace and beside it.
#pragma once

#include <vector>

#include "base/recorded/event_sample.h"
#include "flowback/base/error.h"
#include "replay/query/query_source.h"
#include "replay/query/table.h"

namespace flowback {

// Returns the samples that fit the limits and have an access to memory, or all: those beside the
// trace first. Errors: kUnsupported if the recording has none, or more than are held at once; as
// VisitSamples'.
Result<std::vector<EventSample>> FindSamples(QuerySource& source, const QueryLimits& limits,
                                             bool of_memory);

// When it was taken, as a value of the recording's clock; 0: unknown.
uint64_t TimeOf(const EventSample& sample, const RecordingClock& clock);

}  // namespace flowback
