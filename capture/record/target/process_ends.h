// SPDX-License-Identifier: MIT
// How the recorded processes ended, put together from their threads' and the kernel's reports.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "flowback/capture/record.h"

namespace flowback::record {

// What a thread of the emulator's sent; empty when it is none.
std::optional<ProcessEnd> DecodeProcessEnd(const std::string& text);

// At the recording's end: one for each process, in order of time. The command's status is `status`,
// by waitpid, if it ended at `time`.
void CompleteProcessEnds(RecordSummary& summary, pid_t command, std::optional<int> status,
                         uint64_t time);

}  // namespace flowback::record
