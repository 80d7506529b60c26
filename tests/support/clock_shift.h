// SPDX-License-Identifier: MIT
// A recording as the same host would have made it at another time since it was switched on.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/perf_data_converter.h"

namespace flowback::support {

// What the TSC packets of all AUXTRACE records hold, in the file's order. REQUIRES: a packet begins
// each record, and none lies in two.
std::vector<uint64_t> TscsOf(const PerfDataParts& parts);

// The counter is `ticks` further on: in the TSC packets, which keep its lower 56 bits, and in the
// AUXTRACE records' references. The conversion to perf's time is moved by as much the other way, so
// that every record keeps its time; to a nanosecond, and exactly where `ticks` is a multiple of
// 1 << time_shift. REQUIRES: as above, if `ticks` is not a multiple of 1 << 56.
void MoveClock(PerfDataParts& parts, uint64_t ticks);

}  // namespace flowback::support
