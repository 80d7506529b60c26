// SPDX-License-Identifier: MIT
// Which share of a thread has a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "flowback/replay/flow_index.h"

namespace flowback {

// The first one whose last time is not before `tsc`; their number: all lie before it. Times don't
// go back from share to share; one without any has that of those before it. The times are the
// index's: those of the flow may differ from them by what is estimated, so the flow decides whether
// the time has passed.
inline size_t ShareOfTime(const IndexedThread& thread, uint64_t tsc) {
  const auto holds = [tsc](const FlowShare& share) {
    return share.last_tsc != 0 && share.last_tsc >= tsc;
  };
  return static_cast<size_t>(std::ranges::find_if(thread.shares, holds) - thread.shares.begin());
}

}  // namespace flowback
