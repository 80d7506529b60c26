// SPDX-License-Identifier: MIT
// RecordOptions::watched: understood, and what the summary says of them.
#pragma once

#include <string>

#include "capture/record/watch/function_watch.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// Errors: kUsage, for a text that names no function.
Result<WatchedFunctions> UnderstandWatch(const RecordOptions& options);

// A place that an engine found, for the summary.
void NoteFunction(RecordingSwitch turns, bool indirect, const std::string& text,
                  RecordSummary& summary);

// For the recording: "; from f in /lib/libx.so at 0x1139; until g", with the places that are known
// so far, else the names. Empty when all is recorded.
std::string WatchText(const WatchedFunctions& watched, const RecordSummary& summary);

// What the user should know at the end: functions that were nowhere, in several places, or not
// reached.
void NoteWatch(const WatchedFunctions& watched, RecordSummary& summary);

}  // namespace flowback::record
