// SPDX-License-Identifier: MIT
// Finds the thread in which a process died.
#pragma once

#include <cstddef>
#include <optional>

#include "flowback/model/recording.h"
#include "replay/crash/crash_report.h"

namespace flowback {

struct DyingThread {
  size_t thread = 0;              // of the machine
  std::optional<ProcessEnd> end;  // of the process; its tid is -1 if the thread is not known
};

// Returns the thread that a signal killed. If no signal killed a thread, returns a thread whose end
// was recorded, else the first thread.
DyingThread FindDying(const CrashInput& input);

}  // namespace flowback
