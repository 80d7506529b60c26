// SPDX-License-Identifier: MIT
// Compares an older coverage with a newer one, function by function.
#pragma once

#include <string>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback {

struct CoverageChange {
  std::string object;    // the last part of its path
  std::string function;  // its name, else its address
  uint64_t bytes = 0;
};

// Finds a function again by the names of its file and itself, so that builds may differ. A
// function without a name is found again by its address, in the same build only. If either side
// does not know whether a function executed, the function is in neither list.
struct CoverageChanges {
  std::vector<CoverageChange> newly_executed;      // largest first
  std::vector<CoverageChange> no_longer_executed;  // largest first

  static CoverageChanges Between(const CoverageReport& old, const CoverageReport& now);
};

}  // namespace flowback
