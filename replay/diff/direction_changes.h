// SPDX-License-Identifier: MIT
// Directions of branches that only one side executed.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/diff/function_changes.h"
#include "replay/diff/line_changes.h"

namespace flowback {

struct DirectionChanges {
  std::vector<DirectionChange> changes;  // in any order
  uint64_t unknown = 0;  // directions that some side takes, and the other one may take or not
};

// Returns those in functions that executed on both sides. Where the builds differ, a
// direction is the line that the branch stands in and the line that it leads to, which only one
// side must have executed: compilers turn branches round and move code, and lines remain.
DirectionChanges DirectionsOf(const ProfiledSides& sides, const MatchedObjects& objects,
                              const MatchedFunctions& functions, const MatchedLines& lines,
                              const std::vector<LineChange>& executed);

}  // namespace flowback
