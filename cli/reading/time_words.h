// SPDX-License-Identifier: MIT
// What people say about times: --time and --tod.
#pragma once

#include <string>

#include "cli/reading/reader_options.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"

namespace flowback::cli {

// One time, as a clock value: seconds (12.5), units (10ms), after the recording's begin (+10ms),
// before its end (-5ms), per cent of it (10%), begin, end, or tsc:N. `option` is for messages.
// Errors: as ParseTimeSpan.
Result<uint64_t> ParseTime(const std::string& option, const std::string& word,
                           const Recording& recording, const RecordingClock& clock);

// "A,B": each as ParseTime takes it; an empty bound is open. Errors: kUsage for bad syntax;
// kUnsupported when the recording has no such times.
Result<TimeSpan> ParseTimeSpan(const std::string& text, const Recording& recording,
                               const RecordingClock& clock);

// --tod: from now on the clock gives the time of day. Errors: kUnsupported when the recording does
// not say how its clock relates to it.
Status ShowTimeOfDay(RecordingClock& clock);

// Errors: kUsage, if --time's span lies outside of the trace's times, where these are known.
Status CheckSpan(const Recording& recording, const RecordingClock& clock, TimeSpan span,
                 const ReaderOptions& options);

// Warns that nothing is in --time's span, and from when to when the trace is. Errors: as CheckSpan.
Status JudgeEmptySpan(const Recording& recording, const RecordingClock& clock, TimeSpan span,
                      const ReaderOptions& options);

}  // namespace flowback::cli
