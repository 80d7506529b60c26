// SPDX-License-Identifier: MIT
#include "replay/diff/measured.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace flowback {

Measured Measured::Of(std::span<const uint64_t> values) {
  return Of(std::vector<double>(values.begin(), values.end()));
}

Measured Measured::Of(std::span<const double> values) {
  Measured result;
  if (values.empty()) return result;
  result.runs = values.size();
  result.least = *std::ranges::min_element(values);
  result.most = *std::ranges::max_element(values);
  const auto count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

double MeasuredChange::ratio() const {
  if (old.mean != 0) return now.mean / old.mean;
  return now.mean == 0 ? 1 : std::numeric_limits<double>::infinity();
}

bool MeasuredChange::IsSignificant() const {
  constexpr size_t kEnough = 3;  // runs, for a deviation that means something
  constexpr double kDeviations = 3;
  if (old.least <= now.most && now.least <= old.most) return false;
  if (std::max(old.runs, now.runs) < kEnough) return true;
  return std::abs(delta()) > kDeviations * std::hypot(old.deviation, now.deviation);
}

}  // namespace flowback
