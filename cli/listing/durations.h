// SPDX-License-Identifier: MIT
// How long something took, from one TSC to another; 0 in either: not known.
#pragma once

#include <cstdint>
#include <string>

#include "flowback/replay/recording_clock.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

// On the clock; 0 where the times go back.
uint64_t DurationOf(const RecordingClock& clock, uint64_t begin, uint64_t end);

// " 0.000004250 s", or ticks. Appends nothing if both times are equal: the duration is below the
// trace's resolution.
void AppendDuration(std::string& out, const RecordingClock& clock, uint64_t begin, uint64_t end);
// Keys duration, in nanoseconds, and duration_tsc.
void AppendDuration(JsonLine& line, const RecordingClock& clock, uint64_t begin, uint64_t end);

}  // namespace flowback::cli
