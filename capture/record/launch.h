// SPDX-License-Identifier: MIT
// Starting the program to record under ptrace.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "flowback/base/error.h"

namespace flowback::record {

// Ignores SIGINT and SIGQUIT while it lives, as system(3) does for its caller.
class TerminalSignalsIgnored {
 public:
  TerminalSignalsIgnored();
  ~TerminalSignalsIgnored();
  TerminalSignalsIgnored(const TerminalSignalsIgnored&) = delete;
  TerminalSignalsIgnored& operator=(const TerminalSignalsIgnored&) = delete;

  // In the child, before exec: what the caller had, its signal mask as well.
  void Restore() const;

 private:
  struct Saved;
  Saved* saved_;
};

// Starts the command as a child of the calling thread, seized with `ptrace_options`, and returns
// when it stopped at the event of its exec. Errors: see Record.
Result<pid_t> LaunchTraced(const std::vector<std::string>& command, long ptrace_options,
                           const TerminalSignalsIgnored& signals);

// Starts the command untraced, with `environment`.
Result<pid_t> Launch(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment,
                     const TerminalSignalsIgnored& signals);

// What execve's `error` means for the command `name`.
Error ExecError(const std::string& name, int error);

}  // namespace flowback::record
