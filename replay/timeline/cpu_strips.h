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

// Which threads ran on a CPU, in the columns of the threads' strips.
struct CpuStrip {
  int32_t cpu = -1;
  std::vector<int32_t> tids;   // of each column: the thread that ran longest; -1: none is known
  std::vector<uint64_t> busy;  // time of each column in which a thread ran
};

// Divides the time from the timeline's begin to its end into `columns` columns. Returns nothing if
// the recording does not say which thread ran on which CPU.
std::vector<CpuStrip> CpuStripsOf(const Timeline& timeline, const Recording& recording,
                                  const StreamInputs& inputs, size_t columns);

}  // namespace flowback
