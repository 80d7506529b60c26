// SPDX-License-Identifier: MIT
// The files that a recording's code was read from.
#pragma once

#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"

namespace flowback {

// Returns the files by their own names: a process's recording has them by a link, which goes with
// the recording.
std::vector<std::string> UsedFiles(const RecordingCode& code);

}  // namespace flowback
