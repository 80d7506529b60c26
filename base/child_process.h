// SPDX-License-Identifier: MIT
// Child processes that do not outlive this one.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace flowback {

// How a child process begins.
struct ChildSetup {
  static constexpr int kInherited = -1;  // what this process has
  static constexpr int kNowhere = -2;    // /dev/null

  // Descriptors that become standard input, output and error, or one of the two above.
  int input = kNowhere;
  int output = kNowhere;
  int messages = kNowhere;
  // The signal that the kernel sends to the child when this process ends, however it ends.
  int end_signal = SIGKILL;
  // Signals that the child handles in the default way.
  std::vector<int> default_signals;
  bool inherits_mask = true;  // false: the child blocks no signal
};

// Starts the program words[0], looked up in PATH, with the other words as arguments. The kernel
// sends `end_signal` when the calling thread ends, so a thread that lives on must start the child.
// Returns the child's number, or -1 with errno set if no process can be made or the program cannot
// be executed. REQUIRES: `words` is not empty.
pid_t StartChild(const std::vector<std::string>& words, const ChildSetup& setup);

}  // namespace flowback
