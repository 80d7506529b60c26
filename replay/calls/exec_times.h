// SPDX-License-Identifier: MIT
// When a process became another program, from the recording's sideband.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/recording_clock.h"

namespace flowback {

class ExecTimes {
 public:
  // The clock must outlive it.
  ExecTimes(const Recording& recording, const RecordingClock& clock, int32_t pid);

  // Whether it did between two times of the trace, both in TSC ticks. False where they can't be
  // compared with the sideband's, or the first is not known (0).
  bool Between(uint64_t begin_tsc, uint64_t end_tsc) const;
  // Returns it in the form of CallStack::LookForExec. This must outlive the result, and not move.
  CallStack::ExecBetween AsFunction() const {
    return [this](uint64_t begin_tsc, uint64_t end_tsc) { return Between(begin_tsc, end_tsc); };
  }

 private:
  const RecordingClock* clock_;
  std::vector<uint64_t> times_;  // as RecordingClock::Value
};

}  // namespace flowback
