// SPDX-License-Identifier: MIT
// Starting the program to record under ptrace.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "capture/record/target/program_file.h"
#include "capture/record/target/recorder_signals.h"
#include "flowback/base/error.h"

namespace flowback::record {

// Starts the command as a child of the calling thread, seized with `ptrace_options`, and returns
// when it stopped at the event of its exec. Errors: see Record.
Result<pid_t> LaunchTraced(const std::vector<std::string>& command, long ptrace_options,
                           const RecorderSignals& signals);

// Starts the command untraced, with `environment`.
Result<pid_t> Launch(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment, const RecorderSignals& signals);

// What execve's `error` means for the command `name`.
Error ExecError(const std::string& name, int error);

// Why FindProgram refused the file at `path`, which `name` asked for; `by` would have run it.
Error RefusedProgram(const std::string& name, const std::string& path, const std::string& by,
                     const ProgramRefusal& refusal);

}  // namespace flowback::record
