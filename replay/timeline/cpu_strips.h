// SPDX-License-Identifier: MIT
// Finds which thread ran on each CPU, column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/timeline.h"

namespace flowback {

// Divides the time from the timeline's begin to its end into `columns` columns. Returns nothing if
// the recording does not say which thread ran on which CPU.
std::vector<CpuStrip> CpuStripsOf(const Timeline& timeline, const Recording& recording,
                                  const StreamInputs& inputs, size_t columns);

}  // namespace flowback
