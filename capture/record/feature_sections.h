// SPDX-License-Identifier: MIT
// Where perf.data has its features: behind the data.
#pragma once

#include <vector>

#include "capture/record/output_file.h"
#include "capture/record/perf_data_header.h"

namespace flowback::record {

// Appends the table of their sections and what they hold, and sets their bits in the file's header.
// REQUIRES: the file is no pipe, and its data are complete. Errors: as OutputFile's.
Status WriteFeatureSections(OutputFile& file, std::vector<HeaderFeature> features);

}  // namespace flowback::record
