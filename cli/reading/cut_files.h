// SPDX-License-Identifier: MIT
// Inputs that another process cuts while they are read (flowback/base/mapped_file.h).
//
// A handler for SIGBUS maps zeros in the place of what is gone and notes where that was, so the
// reader goes on, over bytes that never were there. Nothing that it makes of them is told: before
// text leaves (Output::CheckWith) CheckUncut says whether all that was read until then was there.
// What a command prints at its end is told whole or not at all; of a listing, what went out before.
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
