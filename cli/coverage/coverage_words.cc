// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_words.h"

#include <fmt/format.h>

#include <cmath>

#include "replay/writers/text/printable.h"

namespace flowback::cli {

double PercentNumber(const CoverageShare& share) {
  if (share.total == 0) return 100;
  if (share.executed == share.total) return 100;
  const double percent =
      100 * static_cast<double>(share.executed) / static_cast<double>(share.total);
  const double tenths = std::floor(percent * 10) / 10;
  return tenths == 0 && share.executed != 0 ? 0.1 : tenths;
}

std::string PercentOf(const CoverageShare& share) {
  return share.total == 0 ? "-" : fmt::format("{:.1f} %", PercentNumber(share));
}

std::string FractionOf(const CoverageShare& share) {
  if (share.total == 0) return "";
  std::string text = fmt::format("{}/{}", share.executed, share.total);
  if (share.unknown != 0) text += fmt::format(" ({}?)", share.unknown);
  return text;
}

std::string FunctionWords(const StaticFunction& function) {
  return function.name.empty() ? fmt::format("[function at {:#x}]", function.begin)
                               : Printable(function.name);
}

std::string ObjectWords(const ObjectCoverage& object) { return Printable(object.counts->id.path); }

const ObjectCoverage* MainObject(const CoverageReport& report) {
  const auto is_library = [](const ObjectCoverage& object) {
    const std::string_view name = LastPart(object.counts->id.path);
    return name.find(".so") != std::string_view::npos || name.starts_with('[');
  };
  const ObjectCoverage* best = nullptr;
  for (const ObjectCoverage& object : report.objects) {
    if (object.code == nullptr || object.counts->instructions.empty()) continue;
    const auto rank = [&](const ObjectCoverage& each) {
      return std::pair(!is_library(each), each.shares.instructions.executed);
    };
    if (best == nullptr || rank(object) > rank(*best)) best = &object;
  }
  return best;
}

}  // namespace flowback::cli
