// SPDX-License-Identifier: MIT
// Checks that each option which chooses code has chosen some: a misspelt name must not look like
// code that is covered.
#pragma once

#include <string>
#include <vector>

#include "cli/coverage/coverage_options.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/coverage_report.h"

namespace flowback::cli {

// A pattern of --object, --include or --function that fits nothing.
struct UnmatchedChoice {
  std::string problem;  // "--object libx*: no such object"
  std::string remedy;   // names what there is
  // Whether nothing is left of the code: no pattern of the option fits.
  bool leaves_nothing = false;
};

// `report` is of these counts and options.
std::vector<UnmatchedChoice> FindUnmatched(const CoverageOptions& options,
                                           const CoverageCounts& counts,
                                           const CoverageReport& report);

}  // namespace flowback::cli
