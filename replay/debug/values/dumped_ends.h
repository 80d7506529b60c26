// SPDX-License-Identifier: MIT
// How processes ended, by their core dumps, where the recorder noted nothing of it.
#pragma once

#include <string>
#include <vector>

#include "flowback/model/recording.h"
#include "replay/debug/values/end_core.h"

namespace flowback {

// How the dump's process ended. REQUIRES: the dump is of a death.
ProcessEnd EndByDump(const EndCore& core);

// Returns the recording with an end for each process that a dump says was killed and of whose end
// nothing is noted. Ignores unreadable dumps, which the reader of their code reports.
Recording WithDumpedEnds(Recording recording, const std::vector<std::string>& cores);

}  // namespace flowback
