// SPDX-License-Identifier: MIT
// Finds source files that were changed after the code was compiled, whose lines may have moved.
#pragma once

#include <string>
#include <vector>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/source_reader.h"

namespace flowback {

struct ChangedSource {
  std::string source;  // where it was found
  std::string object;  // the file that was compiled from an older version
};

// Returns each pair once. Ignores sources that `reader` cannot find.
std::vector<ChangedSource> ChangedSources(const CoverageReport& report, const SourceReader& reader);

}  // namespace flowback
