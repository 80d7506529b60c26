// SPDX-License-Identifier: MIT
// The kinds of code whose share a report counts, by name.
#pragma once

#include <span>
#include <string_view>

#include "flowback/replay/coverage_report.h"

namespace flowback {

struct CoverageMetric {
  std::string_view name;  // "lines", "functions", ...
  CoverageShare CoverageShares::* share;
};

std::span<const CoverageMetric> CoverageMetrics();
// Returns null if no metric has this name.
const CoverageMetric* FindCoverageMetric(std::string_view name);
// Returns the metric that says most about these shares: lines if any are known, else instructions.
const CoverageMetric& UsualCoverageMetric(const CoverageShares& shares);

// Returns the executed share in percent, rounded down to tenths. Returns 100 only if all of it
// executed, and at least 0.1 if any of it did. An empty share is 100 percent.
double PercentNumber(const CoverageShare& share);

}  // namespace flowback
