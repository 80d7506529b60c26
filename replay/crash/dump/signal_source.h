// SPDX-License-Identifier: MIT
// The source of the signal that killed a process, from a core dump.
#pragma once

#include "replay/debug/values/end_core.h"

namespace flowback {

struct SignalSource {
  bool is_known = false;      // the dump has the siginfo of that signal
  bool was_sent = false;      // by a process or a timer, say: no instruction raised it
  bool from_outside = false;  // another process sent it
  bool has_address = false;   // it has the address at which an access failed
};

// `core` may be null.
SignalSource SourceOf(const EndCore* core, int signal);

}  // namespace flowback
