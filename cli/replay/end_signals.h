// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM, for servers that end in order.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include "base/descriptor.h"

namespace flowback::cli {

// From now on these signals do not end the program: the descriptor becomes readable.
inline Descriptor EndSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return Descriptor(signalfd(-1, &ends, SFD_CLOEXEC));
}

}  // namespace flowback::cli
