// SPDX-License-Identifier: MIT
// Waits of threads for each other on both sides, paired.
#pragma once

#include <vector>

#include "replay/diff/matched_names.h"

namespace flowback {

// Returns the places where a thread of some run waited, in any order. A place is the function that
// waits and its caller by name: each build has other addresses.
std::vector<WaitChange> WaitsOf(const ProfiledSides& sides);

}  // namespace flowback
