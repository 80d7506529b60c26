// SPDX-License-Identifier: MIT
// The options of `flowback coverage`, and what they mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/reading/reader_options.h"
#include "replay/coverage/report/code_patterns.h"
#include "replay/coverage/report/coverage_metric.h"
#include "replay/writers/writers.h"

namespace CLI {
class App;
}

namespace flowback::cli {

// The share that must have executed, else the command fails.
struct CoverageGoal {
  std::string of;  // a metric's name; empty: the usual metric
  double percent = 0;
};

using CoverageFormat = WriterOf<CoverageWriter>;

struct CoverageOptions {
  ReaderOptions reader;
  std::vector<std::string> more;  // inputs
  std::string format = "summary";
  CodePatterns patterns;
  std::string function;  // the words of patterns.function
  std::string source_root;
  std::string sort = "size";
  std::string fail_under;
  std::string save;
  std::string baseline;
  size_t top = 20;
  bool by_thread = false;

  // Understood from the words above.
  std::optional<CoverageFormat> writer;
  std::optional<CoverageGoal> goal;
};

void AddCoverageOptions(CLI::App& app, CoverageOptions& options, ReaderWords& words);
// Errors: kUsage.
Status UnderstandCoverage(CoverageOptions& options);
// Returns what the goal is about.
const CoverageMetric& MetricFor(const CoverageGoal& goal, const CoverageShares& shares);

}  // namespace flowback::cli
