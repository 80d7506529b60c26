// SPDX-License-Identifier: MIT
// Runs a program instruction by instruction and gives the trips round its loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/locks/trip.h"

namespace flowback {

// One trip with its own copy of the code.
struct SteppedTrip {
  uint64_t head = 0;
  std::vector<TripPart> parts;
  std::vector<std::vector<uint8_t>> code;
};

struct SteppedProgram {
  std::string error;               // empty: it worked
  std::vector<SteppedTrip> trips;  // each way round a loop once, inner loops included
  std::vector<size_t> last;        // the numbers of the trips among the last steps
};

// Steps between two INT3 of the program, at most `steps` instructions; then ends it.
SteppedProgram StepProgram(const std::string& path, const std::string& argument, size_t steps);

}  // namespace flowback
