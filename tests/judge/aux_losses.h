// SPDX-License-Identifier: MIT
// Takes trace data out of a perf.data file, and changes its records as the kernel and perf would.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "flowback/model/recording.h"
#include "tests/judge/judge.h"
#include "tests/support/perf_data_converter.h"
#include "tests/support/random.h"

namespace flowback::judge {

enum class AuxLoss : uint8_t {
  // The buffer was full: an AUX record is TRUNCATED, and the next begins where it ended.
  kTruncated,
  // Data was written over before perf came: between two AUXTRACE records offsets are missing.
  kHole,
};

support::PerfDataParts ReadPerfData(const std::filesystem::path& file);

// Takes data out of each buffer at a random place. What became of the streams' bytes, by the
// stream's number; nothing where its records do not tell it apart, or it is too short.
std::vector<Damage> LoseAuxData(support::PerfDataParts& parts, AuxLoss loss,
                                const std::vector<Stream>& streams, testing::Random& random);

}  // namespace flowback::judge
