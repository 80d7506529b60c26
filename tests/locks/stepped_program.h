// SPDX-License-Identifier: MIT
// The trips round the loops of what a program executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/locks/loops/trip.h"
#include "tests/locks/executed_steps.h"

namespace flowback {

// One trip with its own copy of the code.
struct SteppedTrip {
  uint64_t head = 0;
  bool last = false;  // it, or one the same, is among the last steps
  std::vector<TripPart> parts;
  std::vector<std::vector<uint8_t>> code;
};

// A trip begins at an address to which a jump led backward, and ends where the thread comes there
// again for the first time. Each address is the head of trips of its own, so an outer loop's trips
// contain the inner loop's. Trips that are the same come once.
std::vector<SteppedTrip> TripsOf(const ExecutedSteps& steps);

}  // namespace flowback
