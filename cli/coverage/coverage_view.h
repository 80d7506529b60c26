// SPDX-License-Identifier: MIT
// What a coverage report is written from, and the formats that there are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text/output.h"
#include "flowback/base/error.h"
#include "flowback/replay/coverage_report.h"
#include "flowback/replay/source_lines.h"
#include "replay/coverage/report/coverage_changes.h"

namespace flowback::cli {

struct CoverageView {
  const CoverageReport& report;
  const CoverageCounts& counts;
  SourceLines* lines = nullptr;  // for their text; null: none
  std::string source_root;       // folder under which source files lie; empty: where they were
  size_t rows = 20;              // of each list
  std::string sort = "size";
  int64_t date = 0;                          // InputDates::Newest
  const CoverageChanges* changes = nullptr;  // since a baseline; null: there is none
};

using CoverageWriter = void (*)(const CoverageView& view, Output& output);

struct CoverageFormat {
  std::string_view name;
  CoverageWriter write;
  std::string_view summary;
};

std::span<const CoverageFormat> CoverageFormats();
// Errors: kUsage for a word that names none.
Result<const CoverageFormat*> FindCoverageFormat(const std::string& word);

#define FLOWBACK_COVERAGE_FORMAT(name, function, summary) \
  void function(const CoverageView& view, Output& output);
#include "cli/coverage/coverage_formats.def"
#undef FLOWBACK_COVERAGE_FORMAT

}  // namespace flowback::cli
