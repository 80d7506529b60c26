// SPDX-License-Identifier: MIT
// Where perf.data has its features: behind the data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/output/output_file.h"
#include "capture/record/perf_data/little_endian_buffer.h"
#include "capture/record/perf_data/perf_data_header.h"

namespace flowback::record {

// The table of their sections and what they hold, to stand at `at` in the file, and the bits that
// the header has for them.
struct FeatureSections {
  LittleEndianBuffer sections;
  std::array<uint64_t, perf::kFeatureBits / 64> bits{};
};
FeatureSections EncodeFeatures(std::vector<HeaderFeature> features, uint64_t at);

// Appends the table of their sections and what they hold, and sets their bits in the file's header.
// REQUIRES: the file is no pipe, and its data are complete. Errors: as OutputFile's.
Status WriteFeatureSections(OutputFile& file, std::vector<HeaderFeature> features);

}  // namespace flowback::record
