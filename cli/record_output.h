// SPDX-License-Identifier: MIT
// `record -o -` and `-o FIFO`: the recording goes into a pipe.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// Where the options name a pipe or standard output, opens it for the recording; else does nothing.
// What CMD and others then write to standard output goes to stderr, as perf has it. Waits until a
// FIFO is opened for reading. Errors: kUsage, kPermission, kSystem.
Status OpenOutputPipe(RecordOptions& options, bool json);

// In messages.
std::string OutputName(const RecordOptions& options);

}  // namespace flowback::cli
