// SPDX-License-Identifier: MIT
// What a recording's own records say was lost.
#pragma once

#include "flowback/model/recording.h"

namespace flowback::perf {

// Sums up the recording's sideband in `recording.losses`, one row for each cause.
void AddRecorderLosses(Recording& recording);

}  // namespace flowback::perf
