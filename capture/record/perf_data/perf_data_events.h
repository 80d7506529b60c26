// SPDX-License-Identifier: MIT
// What stands in perf.data before the sideband: the events, and how the trace is to be read.
#pragma once

#include <linux/perf_event.h>

#include "capture/record/generate/trace_clock.h"
#include "capture/record/perf_data/perf_record_buffer.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// The number the kernel gave the PMU: dynamic, so any above the fixed types serves.
inline constexpr uint32_t kIntelPtPmu = 8;
inline constexpr uint64_t kTraceEventId = 100;
inline constexpr uint64_t kSidebandEventId = 101;

// The event that owns the trace, and the dummy that delivers the sideband.
perf_event_attr TraceAttributes(const RecordOptions& options);
perf_event_attr SidebandAttributes(const RecordOptions& options);

RecordBuffer EncodeTimeConversion(const TimeConversion& conversion);
RecordBuffer EncodeIdIndex();
RecordBuffer EncodeAuxtraceInfo(const RecordOptions& options, const TraceClock& clock);

}  // namespace flowback::record
