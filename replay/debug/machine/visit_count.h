// SPDX-License-Identifier: MIT
// How often a thread came to an address before a place, and in all.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/debug/machine/machine_threads.h"
#include "replay/debug/machine/stop_search.h"

namespace flowback {

struct VisitCount {
  uint64_t before = 0;  // the place where the thread stands, that one not counted
  uint64_t all = 0;
};

// Counts for the thread as it is at the moment. Decodes the segments that may hold the address.
// Empty: `keep_on` ended it.
std::optional<VisitCount> CountVisits(MachineThreads& threads, size_t thread,
                                      const MachineMoment& moment, uint64_t address,
                                      const KeepOn& keep_on);

}  // namespace flowback
