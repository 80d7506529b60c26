// SPDX-License-Identifier: MIT
// Signals at which servers end in order.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <initializer_list>

#include "base/descriptor.h"

namespace flowback::cli {

// From now on these signals do not end the program: the descriptor becomes readable.
inline Descriptor EndSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGHUP}) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : signals) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    // nohup has it ignored, but a signal that is blocked would still come.
    const bool is_ignored = signal == SIGHUP && now.sa_handler == SIG_IGN;
    if (!is_ignored) sigaddset(&ends, signal);
  }
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return Descriptor(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace flowback::cli
