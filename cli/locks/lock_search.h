// SPDX-License-Identifier: MIT
// Finds the waits of an opened recording, or what an earlier run found.
#pragma once

#include <string>
#include <vector>

#include "cli/locks/lock_words.h"
#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "replay/locks/locks.h"
#include "replay/writers/locks/lock_changes.h"

namespace flowback::cli {

// Opens the trace, the code and the threads. Errors: kUnsupported or kUsage where the recording has
// no waits to find; as the session's steps.
Status OpenForLocks(OpenedRecording& opened);

// Finds the waits of the chosen threads. `sources` must be the recording's. Errors: as FindLocks'.
Result<LockReport> FindWaits(OpenedRecording& opened, const TimelineSources& sources,
                             const std::vector<const ThreadFlow*>& flows,
                             const LockOptions& options);
// Finds the waits of the chosen threads, and adds the losses to opened.losses(). `sources` must be
// the recording's. Errors: as FindLocks'.
Result<LockReport> SearchLocks(OpenedRecording& opened, const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const LockOptions& options);

// Returns the figures of an earlier run: its --json, or those of a recording, which is searched
// with the options of `words`. Errors: kUnreadable; kUsage; as SearchLocks.
Result<LockFigures> ReadBaseline(const LockWords& words);

}  // namespace flowback::cli
