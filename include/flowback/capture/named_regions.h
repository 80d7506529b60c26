// SPDX-License-Identifier: MIT
// Names that a recorded program gave to parts of its run (flowback/self.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/model/recording.h"

namespace flowback {

// All regions of one name, of all threads. What began and did not end ran to the recording's end,
// or to its thread's.
struct NamedRegion {
  std::string name;
  uint64_t begun = 0;
  uint64_t ended = 0;
  uint64_t total_ns = 0;  // of those that ended, by the program's clock or the recording's
  uint64_t longest_ns = 0;
};

// What the recording has, in the order of the names; from damage on, nothing.
std::vector<NamedRegion> NamedRegions(const Recording& recording);

}  // namespace flowback
