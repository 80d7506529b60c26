// SPDX-License-Identifier: MIT
// When a thread was not on any CPU.
#pragma once

#include <cstdint>
#include <deque>

#include "cli/listing/print_settings.h"

namespace flowback::cli {

// From being switched out to being switched in, TSC.
struct OffCpu {
  uint64_t begin = 0;
  uint64_t end = 0;
  int32_t from_cpu = -1;  // -1: no record says which
  int32_t to_cpu = -1;
};

// Returns all off-CPU times in the thread's records, in the order of time; none where its times
// can't be compared with the trace's.
std::deque<OffCpu> OffCpuTimes(const PrintSettings& settings, int32_t tid);

}  // namespace flowback::cli
