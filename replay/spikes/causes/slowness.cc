// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/slowness.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace flowback {
namespace {

// A spike takes at least this multiple of the median.
constexpr double kLeastRatio = 1.5;
// A spike that takes less than this multiple of the median must lie apart from the others, ...
constexpr double kClearRatio = 3;
// ... by so much of the value below it.
constexpr double kLeastGap = 1.2;
// The slow ones that the cut keeps have at least so much of what lies above the median.
constexpr double kKeptExtra = 0.5;

size_t CountAbove(const std::vector<uint64_t>& sorted, uint64_t limit) {
  return static_cast<size_t>(sorted.end() - std::ranges::upper_bound(sorted, limit));
}

// The values above the fence begin at `first`. Returns where the slow ones begin: behind the widest
// gap, in ratio, of those gaps above which most of the extra lies.
size_t CutAt(const std::vector<uint64_t>& sorted, size_t first, uint64_t median) {
  double all = 0;
  for (size_t i = first; i < sorted.size(); ++i) all += static_cast<double>(sorted[i] - median);
  double kept = all;
  double widest = 0;
  size_t cut = first;
  for (size_t i = first; i < sorted.size() && kept >= kKeptExtra * all; ++i) {
    const double below = std::max<double>(1, i == 0 ? 1 : static_cast<double>(sorted[i - 1]));
    const double ratio = static_cast<double>(sorted[i]) / below;
    if (ratio > widest) {
      widest = ratio;
      cut = i;
    }
    kept -= static_cast<double>(sorted[i] - median);
  }
  return cut;
}

Slowness FindKnee(const std::vector<uint64_t>& sorted) {
  Slowness found;
  const uint64_t median = QuantileOf(sorted, 0.5);
  const auto q1 = static_cast<double>(QuantileOf(sorted, 0.25));
  const auto q3 = static_cast<double>(QuantileOf(sorted, 0.75));
  const double fence = std::max(q3 + 3 * (q3 - q1), kLeastRatio * static_cast<double>(median));
  const auto above = std::ranges::find_if(
      sorted, [&](uint64_t value) { return static_cast<double>(value) > fence; });
  if (above == sorted.end()) {
    const bool close = static_cast<double>(sorted.back()) <= 1.05 * static_cast<double>(median);
    found.reason = close ? Slowness::Reason::kAllEqual : Slowness::Reason::kNoKnee;
    return found;
  }
  const size_t cut = CutAt(sorted, static_cast<size_t>(above - sorted.begin()), median);
  const uint64_t below = cut == 0 ? 0 : sorted[cut - 1];
  const bool is_clear =
      static_cast<double>(sorted.back()) > kClearRatio * static_cast<double>(median);
  if (!is_clear && static_cast<double>(sorted[cut]) < kLeastGap * static_cast<double>(below)) {
    found.reason = Slowness::Reason::kNoKnee;
    return found;
  }
  found.reason = Slowness::Reason::kKnee;
  // Between the two, so that the limit is a round number.
  const double middle = std::sqrt(static_cast<double>(std::max<uint64_t>(below, 1)) *
                                  static_cast<double>(sorted[cut]));
  found.threshold = std::clamp(static_cast<uint64_t>(middle), below, sorted[cut] - 1);
  found.slow = sorted.size() - cut;
  return found;
}

Error BadLimit(std::string_view word) {
  return Error(ErrorCode::kUsage, "--over: can't understand '" + std::string(word) + "'")
      .Remedy(
          "a time (5ms, 20us), a number of instructions, a quantile (p99), or a multiple of "
          "the median (3x)");
}

// Returns nanoseconds for one of the unit; 0: it is no unit.
double UnitOf(std::string_view unit) {
  if (unit.empty() || unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 0;
}

}  // namespace

uint64_t QuantileOf(const std::vector<uint64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

Distribution DistributionOf(const std::vector<uint64_t>& sorted) {
  if (sorted.empty()) return {};
  return {.count = sorted.size(),
          .min = sorted.front(),
          .p50 = QuantileOf(sorted, 0.5),
          .p90 = QuantileOf(sorted, 0.9),
          .p99 = QuantileOf(sorted, 0.99),
          .p999 = QuantileOf(sorted, 0.999),
          .max = sorted.back()};
}

// A number of 64 bits holds less.
constexpr double kMostValue = 1.8e19;

Result<SlowLimit> SlowLimit::Parse(std::string_view word) {
  const bool quantile = word.starts_with('p');
  std::string_view digits = quantile ? word.substr(1) : word;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return Fail(BadLimit(word));
  const std::string_view unit(end, static_cast<size_t>(digits.data() + digits.size() - end));
  if (quantile) {
    if (!unit.empty() || number >= 100) return Fail(BadLimit(word));
    return SlowLimit{.kind = Kind::kQuantile, .share = number / 100};
  }
  if (unit == "x") return SlowLimit{.kind = Kind::kMultiple, .share = number};
  const double scale = UnitOf(unit);
  if (scale == 0 || number * scale >= kMostValue) return Fail(BadLimit(word));
  return SlowLimit{.kind = Kind::kValue, .value = static_cast<uint64_t>(number * scale)};
}

Slowness FindSlow(const std::vector<uint64_t>& sorted, const SlowLimit& limit) {
  if (sorted.size() < 2) return {.reason = Slowness::Reason::kTooFew};
  Slowness found{.reason = Slowness::Reason::kAsked};
  const auto median = static_cast<double>(QuantileOf(sorted, 0.5));
  switch (limit.kind) {
    case SlowLimit::Kind::kKnee:
      return FindKnee(sorted);
    case SlowLimit::Kind::kValue:
      found.threshold = limit.value;
      break;
    case SlowLimit::Kind::kQuantile:
      found.threshold = QuantileOf(sorted, limit.share);
      break;
    case SlowLimit::Kind::kMultiple:
      found.threshold = limit.share * median >= kMostValue
                            ? UINT64_MAX
                            : static_cast<uint64_t>(limit.share * median);
      found.multiple = limit.share;
      break;
  }
  found.slow = CountAbove(sorted, found.threshold);
  return found;
}

}  // namespace flowback
