// SPDX-License-Identifier: MIT
// --at of `replay`: where the machine stands first.
#pragma once

#include <string>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "replay/debug/machine.h"

namespace flowback::cli {

// Returns the machine's thread to look at first: the one that a signal killed, else the process'
// first one, else the first.
size_t FirstThread(const ReplayedMachine& machine, const Recording& recording);

// Moves the machine to "begin", "end", "crash", "#N", "spike:N", or a time. Errors: kUsage for a
// word that is none of these or that the recording has no such place for; as ParseTime and
// FindSpike.
Status GoToMoment(const std::string& word, const OpenedRecording& opened, ReplayedMachine& machine);

}  // namespace flowback::cli
