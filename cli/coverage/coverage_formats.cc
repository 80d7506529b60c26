// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cli/coverage/coverage_view.h"

namespace flowback::cli {
namespace {

constexpr CoverageFormat kFormats[] = {
#define FLOWBACK_COVERAGE_FORMAT(name, function, summary) {name, function, summary},
#include "cli/coverage/coverage_formats.def"
#undef FLOWBACK_COVERAGE_FORMAT
};

}  // namespace

std::span<const CoverageFormat> CoverageFormats() { return kFormats; }

Result<const CoverageFormat*> FindCoverageFormat(const std::string& word) {
  std::string names;
  for (const CoverageFormat& format : kFormats) {
    if (format.name == word) return &format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Fail(Error(ErrorCode::kUsage, fmt::format("coverage: there is no format '{}'", word))
                  .Remedy("--format with one of " + names));
}

}  // namespace flowback::cli
