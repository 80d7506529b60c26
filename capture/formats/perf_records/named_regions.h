// SPDX-License-Identifier: MIT
// Names that a recorded program gave to parts of its run (flowback/self.h).
#pragma once

#include <vector>

#include "flowback/model/recording.h"

namespace flowback {

// Returns the regions that the recording has, in the order of their names; none after damage.
std::vector<NamedRegion> NamedRegions(const Recording& recording);

}  // namespace flowback
