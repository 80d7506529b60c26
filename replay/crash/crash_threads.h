// SPDX-License-Identifier: MIT
// Reads what threads did last.
#pragma once

#include "flowback/base/error.h"
#include "replay/crash/crash_report.h"

namespace flowback {

// Describes the machine's thread at the machine's moment, or at the end of its flow, and what it
// executed before. Errors: as ReplayedStacks::At.
Result<CrashThread> ThreadAt(const CrashInput& input, size_t thread, bool at_end,
                             const CrashOptions& options);

// Returns a cursor at the end of the machine's thread.
ThreadCursor EndOf(const CrashInput& input, size_t thread);

// Returns whether the recording says that the thread ended.
bool HasEnded(const Session& session, int32_t tid);

// Returns the stack's frames as places, the innermost first. Each place names the innermost inlined
// function.
std::vector<CrashPlace> FramesOf(Session& session, const ThreadStack& stack);

}  // namespace flowback
