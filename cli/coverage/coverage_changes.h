// SPDX-License-Identifier: MIT
// What an older coverage had and a newer one has not, and the other way round, by function.
#pragma once

#include <string>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback::cli {

struct CoverageChange {
  std::string object;    // the last part of its path
  std::string function;  // its name; of one without, its address
  uint64_t bytes = 0;
};

// Functions are the same by the names of file and function, so that builds may differ; those
// without a name are by their addresses, in the same build only. One that either side does not
// know to have been executed or not is in neither list.
struct CoverageChanges {
  std::vector<CoverageChange> newly_executed;      // largest first
  std::vector<CoverageChange> no_longer_executed;  // the same

  static CoverageChanges Between(const CoverageReport& old, const CoverageReport& now);
};

}  // namespace flowback::cli
