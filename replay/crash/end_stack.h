// SPDX-License-Identifier: MIT
// Completes the dying thread's call stack if the flow's end alone does not show it: behind a return
// to an address without code, and in a signal handler that executed nothing. Compares it with the
// core dump's stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "flowback/base/error.h"
#include "flowback/replay/thread_cursor.h"
#include "replay/crash/crash_report.h"

namespace flowback {

// The last instruction that a thread executed.
struct LastInstruction {
  CursorInstruction instruction;
  uint64_t number = 0;
};

// Empty: the flow ends with a loss, or has none.
std::optional<LastInstruction> LastInstructionOf(const CrashInput& input, size_t thread);

// Completes the stack of the report's first thread, the machine's `dying`, and compares it with the
// core dump's. `has_code`: where the thread stood at its end. Errors: as ReplayedStacks::At.
Status TellEndStack(const CrashInput& input, size_t dying, bool has_code, CrashReport& report);

}  // namespace flowback
