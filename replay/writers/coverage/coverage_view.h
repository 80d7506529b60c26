// SPDX-License-Identifier: MIT
// What the formats of coverage are written from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/coverage_report.h"
#include "flowback/replay/source_lines.h"
#include "replay/coverage/report/coverage_changes.h"

namespace flowback {

// A report, and how to show it.
struct CoverageView {
  const CoverageReport& report;
  const CoverageCounts& counts;  // those of the report
  SourceLines* lines = nullptr;  // gives the text of branches' lines; null: none is shown
  std::string source_root;       // folder under which source files lie; empty: where they were
  size_t rows = 20;              // of each list of a summary
  std::string sort = "size";     // as SortFunctions takes it
  int64_t date = 0;              // InputDates::Newest
  const CoverageChanges* changes = nullptr;  // since a baseline; null: there is none
};

}  // namespace flowback
