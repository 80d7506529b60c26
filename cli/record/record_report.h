// SPDX-License-Identifier: MIT
// What `record` says at its end: words on stderr, JSON lines on stdout.
#pragma once

#include <optional>

#include "cli/record/decoded_check.h"
#include "cli/record/native_run.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// The exit status where the recorder failed, and a command was to run.
inline constexpr int kRecorderFailed = 125;

// The program's own status as a shell has it: 128 + N when signal N ended it.
int CommandStatus(int wait_status);

void TellText(const RecordSummary& summary, const RecordOptions& options);
// The same but for what was written, where that is nobody's matter.
void TellRun(const RecordSummary& summary, const RecordOptions& options);
// How the recorded run compares with `native`.
void TellComparison(const RecordSummary& summary, const NativeRun& native);
// Says so if the recording does not decode to all instructions.
void TellDecoded(const RecordSummary& summary, const DecodedCheck& decoded);
// What a recording was held against. Absent where it was not.
struct RecordComparisons {
  std::optional<NativeRun> native = {};
  std::optional<DecodedCheck> decoded = {};
};
void TellJson(const RecordSummary& summary, const RecordOptions& options,
              const RecordComparisons& comparisons, int exit_status);

// Prints the error and returns its exit status. With a command, whose own status may be any,
// returns 126 or 127 if the command cannot be run, else 125. In JSON also the reason's number.
int RecordFailure(const Error& error, bool has_command, bool json);

}  // namespace flowback::cli
