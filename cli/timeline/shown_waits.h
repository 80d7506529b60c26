// SPDX-License-Identifier: MIT
// The waits that `timeline --waits` shows.
#pragma once

#include <vector>

#include "cli/reading/opened_recording.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "replay/locks/locks.h"
#include "replay/writers/locks/locks_view.h"

namespace flowback::cli {

class ShownWaits {
 public:
  ShownWaits() = default;
  ShownWaits(const ShownWaits&) = delete;  // the view refers to the report
  ShownWaits& operator=(const ShownWaits&) = delete;

  // Plays the flows. `options` are those of the timeline, whose columns the waits get, too; single
  // waits are kept where it keeps spans. `times` are those of the flows. `sources` must outlive
  // this. Errors: as FindLocks'.
  Status Find(OpenedRecording& opened, const TimelineSources& sources,
              const std::vector<const ThreadFlow*>& flows, const TimelineOptions& options,
              const TimeAccounts& times);

  // REQUIRES: Find has returned no error.
  const LocksView& view() const { return view_; }

 private:
  LockReport report_;
  LocksView view_;
};

}  // namespace flowback::cli
