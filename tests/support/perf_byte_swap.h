// SPDX-License-Identifier: MIT
// A perf.data file's parts in the other byte order.
#pragma once

#include "tests/support/perf_data_converter.h"

namespace flowback::support {

// Swaps every number of the events, records and features; AUX data and texts stay. Features that it
// does not know are left out. Ends the program when it does not know a record.
PerfDataParts SwapParts(const PerfDataParts& parts);

// Swaps what Assemble wrote around the parts: the header, the sections' and the features' places.
void SwapFileHeader(FileBytes& file);

}  // namespace flowback::support
