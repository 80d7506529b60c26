// SPDX-License-Identifier: MIT
// What threads did last.
#pragma once

#include "flowback/base/error.h"
#include "replay/crash/crash_report.h"

namespace flowback {

// The machine's thread where the machine stands, or at the end of its flow, with what it executed
// before. Errors: as ReplayedStacks::At.
Result<CrashThread> ThreadAt(const CrashInput& input, size_t thread, bool at_end,
                             const CrashOptions& options);

// A cursor at the end of the machine's thread.
ThreadCursor EndOf(const CrashInput& input, size_t thread);

// Whether the recording says that the thread ended.
bool HasEnded(const Session& session, int32_t tid);

// The stack's frames as places, the innermost first; of each the innermost inlined function.
std::vector<CrashPlace> FramesOf(Session& session, const ThreadStack& stack);

}  // namespace flowback
