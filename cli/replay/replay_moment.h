// SPDX-License-Identifier: MIT
// --at and `monitor goto` of `replay`: moves the machine to a moment.
#pragma once

#include <string>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "replay/debug/machine/machine.h"

namespace flowback::cli {

// Returns the machine's thread to look at first: the one that a signal killed, else the process'
// first one, else the first.
size_t FirstThread(const ReplayedMachine& machine, const Recording& recording);

// Moves the machine to a moment as ParseMoment takes it; "begin", "end" and "#N" are the thread's.
// `option` is for messages. Errors: as ParseMoment and FindSpike; kUsage for an instruction that
// the thread does not have.
Status GoToMoment(const std::string& option, const std::string& word, size_t thread,
                  const OpenedRecording& opened, ReplayedMachine& machine);

}  // namespace flowback::cli
