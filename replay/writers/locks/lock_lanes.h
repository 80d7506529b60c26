// SPDX-License-Identifier: MIT
// What a picture of waits shows of each thread: columns of its time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "replay/writers/locks/locks_view.h"

namespace flowback {

// The kinds of a thread's time in a picture: it does not wait, spins, sleeps.
inline constexpr size_t kLaneKinds = 3;
inline constexpr const char* kLaneWords[kLaneKinds] = {"not waiting", "spinning", "sleeping"};

struct LockLane {
  uint32_t thread = 0;
  // From LockReport::begin to LockReport::end, all of one length; nothing where it did not live.
  std::vector<std::array<uint64_t, kLaneKinds>> columns;
};

// Returns the threads that waited, or held what others waited for: those with most of it, at most
// `most`, in the order of the report. Without strips in the report, the lanes have `columns`
// columns with the waits that are listed one by one. Empty without times.
std::vector<LockLane> LanesOf(const LockReport& report, size_t columns, size_t most);

}  // namespace flowback
