// SPDX-License-Identifier: MIT
// --at: at which moment of each thread its stack is wanted.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"

namespace flowback::cli {

// A moment that is no spike, as ParseMoment takes it. Threads have crashed at their ends. Errors:
// as ParseMoment.
Result<StackPlace> ParseStackPlace(const std::string& text, const Recording& recording,
                                   const RecordingClock& clock);

}  // namespace flowback::cli
