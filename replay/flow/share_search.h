// SPDX-License-Identifier: MIT
// Which share of a thread has a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "flowback/replay/flow_index.h"

namespace flowback {

// Returns the first share whose last time is not before `tsc`; the number of shares: all lie before
// it. Times do not go back from share to share; a share without times has the time of those before
// it. The times are the index's: the flow's times may differ where they are estimated, so the flow
// decides whether the time has passed.
inline size_t ShareOfTime(const IndexedThread& thread, uint64_t tsc) {
  const auto holds = [tsc](const FlowShare& share) {
    return share.last_tsc != 0 && share.last_tsc >= tsc;
  };
  return static_cast<size_t>(std::ranges::find_if(thread.shares, holds) - thread.shares.begin());
}

}  // namespace flowback
