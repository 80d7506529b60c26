// SPDX-License-Identifier: MIT
// Inputs that another process cuts while they are read (flowback/base/mapped_file.h).
//
// A handler for SIGBUS maps zeros in place of the missing pages and notes their place, so the
// reader goes on, over bytes that never existed. Results from them are not printed: before text
// leaves (Output::CheckWith) CheckUncut says whether all that was read until then was there. Output
// at a command's end is printed whole or not at all; of a listing, what went out before.
#pragma once

#include "flowback/base/error.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

// From now on a file that is cut does not end the program. What else raises SIGBUS still does.
void SurviveCutFiles();

// Errors: kUnreadable when the handler met a file that was cut.
Status CheckNothingMet();

// The same, and of the recording's files and the code's (null: none yet) by their sizes.
Status CheckUncut(const Recording& recording, const RecordingCode* code);

}  // namespace flowback::cli
