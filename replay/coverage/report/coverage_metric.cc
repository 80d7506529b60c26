// SPDX-License-Identifier: MIT
#include "replay/coverage/report/coverage_metric.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace flowback {
namespace {

constexpr CoverageMetric kMetrics[] = {
    {"lines", &CoverageShares::lines},
    {"functions", &CoverageShares::functions},
    {"branches", &CoverageShares::branches},
    {"blocks", &CoverageShares::blocks},
    {"instructions", &CoverageShares::instructions},
};

}  // namespace

std::span<const CoverageMetric> CoverageMetrics() { return kMetrics; }

const CoverageMetric* FindCoverageMetric(std::string_view name) {
  const auto* const found = std::ranges::find(kMetrics, name, &CoverageMetric::name);
  return found == std::end(kMetrics) ? nullptr : found;
}

const CoverageMetric& UsualCoverageMetric(const CoverageShares& shares) {
  return *FindCoverageMetric(shares.lines.total != 0 ? "lines" : "instructions");
}

double PercentNumber(const CoverageShare& share) {
  if (share.total == 0) return 100;
  if (share.executed == share.total) return 100;
  const double percent =
      100 * static_cast<double>(share.executed) / static_cast<double>(share.total);
  const double tenths = std::floor(percent * 10) / 10;
  return tenths == 0 && share.executed != 0 ? 0.1 : tenths;
}

}  // namespace flowback
