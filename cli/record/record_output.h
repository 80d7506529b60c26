// SPDX-License-Identifier: MIT
// Where `record -o` leads: into a pipe, or to a file that may be there already.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// Where the options name a pipe or standard output, opens it for the recording; else does nothing.
// What CMD and others then write to standard output goes to stderr, as perf has it. Waits until a
// FIFO is opened for reading. Errors: kUsage, kPermission, kSystem.
Status OpenOutputPipe(RecordOptions& options, bool json);

// Moves an older recording of the output's name to NAME.old; another file only with `force`.
// Errors: kUsage.
Status CheckOlderFile(const RecordOptions& options, bool force);

// A file that is opened must not get the number of a standard stream that the caller has closed:
// messages would end up in it. The program finds them closed as they were.
void KeepStandardStreams();

// In messages.
std::string OutputName(const RecordOptions& options);

}  // namespace flowback::cli
