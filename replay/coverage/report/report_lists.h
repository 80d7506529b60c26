// SPDX-License-Identifier: MIT
// What a reader of a coverage report looks for first: the program, functions that never executed,
// and branches that went one way only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback {

// Points into a report, which must outlive it.
struct ReportedFunction {
  const ObjectCoverage* object = nullptr;
  const FunctionCoverage* function = nullptr;

  const StaticFunction& code() const { return object->Code(*function); }
};

// Points into a report, which must outlive it.
struct ReportedBranch {
  const ObjectCoverage* object = nullptr;
  const BranchCoverage* branch = nullptr;

  uint64_t times() const { return branch->taken + branch->not_taken; }
};

// Returns the object that the report is mainly about: a program rather than a library, and one
// whose source lines are known rather than the make or ctest that started it. Returns null if no
// object executed.
const ObjectCoverage* MainObject(const CoverageReport& report);

// Returns the functions that were not seen to execute, by object and address. `of` limits them to
// one object. Objects that never executed are left out: their lists would be complete, and long.
std::vector<ReportedFunction> UnexecutedFunctions(const CoverageReport& report,
                                                  const ObjectCoverage* of = nullptr);
// Sorts by "size" (largest first) or "name"; "address" leaves the order as it is.
void SortFunctions(std::vector<ReportedFunction>& functions, std::string_view by);

// Returns the branches that were reached and always went the same way: those of `main` first, the
// most often executed first.
std::vector<ReportedBranch> OneWayBranches(const CoverageReport& report,
                                           const ObjectCoverage* main);
bool WentOneWay(uint64_t taken, uint64_t not_taken);

}  // namespace flowback
