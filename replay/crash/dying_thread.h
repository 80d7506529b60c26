// SPDX-License-Identifier: MIT
// Which thread a process died in.
#pragma once

#include <cstddef>
#include <optional>

#include "flowback/model/recording.h"
#include "replay/crash/crash_report.h"

namespace flowback {

struct DyingThread {
  size_t thread = 0;              // of the machine
  std::optional<ProcessEnd> end;  // of the process; its tid is -1 where nobody tells which one died
};

// The thread that a signal killed; else the one whose end the recording has, else the first.
DyingThread FindDying(const CrashInput& input);

}  // namespace flowback
