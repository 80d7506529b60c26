// SPDX-License-Identifier: MIT
#include "replay/calls/exec_times.h"

#include <algorithm>
#include <variant>

namespace flowback {

ExecTimes::ExecTimes(const Recording& recording, const RecordingClock& clock, int32_t pid)
    : clock_(&clock) {
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* comm = std::get_if<CommRecord>(&record);
        comm != nullptr && comm->exec && comm->pid == pid)
      times_.push_back(comm->time);
}

bool ExecTimes::Between(uint64_t begin_tsc, uint64_t end_tsc) const {
  if (!clock_->has_nanoseconds() || begin_tsc == 0) return false;
  const uint64_t from = clock_->Value(begin_tsc);
  const uint64_t to = clock_->Value(end_tsc);
  return std::ranges::any_of(times_, [&](uint64_t time) { return time >= from && time <= to; });
}

}  // namespace flowback
