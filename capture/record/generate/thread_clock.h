// SPDX-License-Identifier: MIT
// One thread's sight of the recording's clock.
#pragma once

#include <cstdint>

#include "capture/record/generate/trace_clock.h"

namespace flowback::record {

// Used by that thread only. An instruction clock learns what the thread executed when the thread
// looks at it, which costs less than at each instruction.
class ThreadClock {
 public:
  // `executed` counts the thread's instructions; both must outlive this.
  ThreadClock(const TraceClock& clock, const uint64_t& executed)
      : clock_(clock), executed_(executed) {}

  uint64_t Now() {
    if (!clock_.counts_instructions()) [[likely]]
      return TraceClock::HostNow();
    const uint64_t more = executed_ - told_;
    told_ = executed_;
    return clock_.Advance(more);
  }
  // For a record of the sideband.
  uint64_t Tick() {
    Publish();
    return clock_.Tick();
  }
  // Before others go on from what this thread did.
  void Publish() {
    if (clock_.counts_instructions()) Now();
  }

 private:
  const TraceClock& clock_;
  const uint64_t& executed_;
  uint64_t told_ = 0;  // of the executed ones
};

}  // namespace flowback::record
