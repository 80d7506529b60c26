// SPDX-License-Identifier: MIT
// Takes the instructions of a trip apart.
#pragma once

#include <span>
#include <vector>

#include "replay/locks/loops/trip.h"
#include "replay/locks/loops/trip_state.h"

namespace flowback {

struct ReadTrip {
  std::vector<TripInstruction> instructions;
  LoopReason failed = LoopReason::kNone;  // kTooLong, kUnknownCode: `instructions` is incomplete
};

// In order of execution. Thread-safe.
ReadTrip ReadTripParts(std::span<const TripPart> parts);

}  // namespace flowback
