// SPDX-License-Identifier: MIT
// --at: at which moment of each thread its stack is wanted.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"

namespace flowback::cli {

// "end"; N, before the thread's instruction of that number, from 0; else a time as ParseTime takes
// it. Errors: as ParseTime.
Result<StackPlace> ParseMoment(const std::string& text, const Recording& recording,
                               const RecordingClock& clock);

}  // namespace flowback::cli
