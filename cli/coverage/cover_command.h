// SPDX-License-Identifier: MIT
// `flowback coverage -- CMD`: a command and all of its processes, recorded for their counts only.
#pragma once

#include "cli/command.h"
#include "cli/coverage/coverage_options.h"
#include "cli/reading/reader_options.h"

namespace flowback::cli {

// Each process is counted as soon as it has ended, and its trace is thrown away. --by-thread and
// --time need the whole trace and keep it in a temporary folder until the report. Returns the exit
// status: the command's own, where it is not 0.
int CoverCommand(const Arguments& command, CoverageOptions& options, ReaderWords& words);

}  // namespace flowback::cli
