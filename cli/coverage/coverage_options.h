// SPDX-License-Identifier: MIT
// The options of `flowback coverage`, and what they mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "cli/coverage/coverage_view.h"
#include "cli/reading/reader_options.h"
#include "flowback/replay/coverage_report.h"

namespace CLI {
class App;
}

namespace flowback::cli {

// What must be reached, else the command fails.
struct CoverageGoal {
  std::string
      of;  // "lines", "functions", ...; empty: lines where they are known, else instructions
  double percent = 0;
};

struct CoverageOptions {
  ReaderOptions reader;
  std::vector<std::string> more;  // inputs
  std::string format = "summary";
  std::vector<std::string> objects;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::string function;
  std::string source_root;
  std::string sort = "size";
  std::string fail_under;
  std::string save;
  std::string baseline;
  size_t top = 20;
  bool by_thread = false;

  // Understood from the words above.
  const CoverageFormat* writer = nullptr;
  std::optional<NamePattern> pattern;
  std::optional<CoverageGoal> goal;
};

void AddCoverageOptions(CLI::App& app, CoverageOptions& options, ReaderWords& words);
// Errors: kUsage.
Status UnderstandCoverage(CoverageOptions& options);
// Whether one of the patterns is the path, its last part, or fits either.
bool FitsPath(const std::vector<std::string>& patterns, const std::string& path);
// As long as the options live.
CoverageChoice ChoiceOf(const CoverageOptions& options);
// "functions", "lines", ... of them.
const CoverageShare& ShareFor(const CoverageGoal& goal, const CoverageShares& shares);
std::string_view NameFor(const CoverageGoal& goal, const CoverageShares& shares);

}  // namespace flowback::cli
