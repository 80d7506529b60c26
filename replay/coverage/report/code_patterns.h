// SPDX-License-Identifier: MIT
// Patterns by which a person chooses the code that a coverage report is about.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "flowback/replay/coverage_report.h"

namespace flowback {

// A path pattern is a path, its last part, or either with * and ?. An empty list chooses all.
struct CodePatterns {
  std::vector<std::string> objects;
  std::vector<std::string> include;  // source files
  std::vector<std::string> exclude;  // source files, even if `include` names them
  std::optional<NamePattern> function;
};

// The patterns must outlive the choice.
CoverageChoice ChoiceOf(const CodePatterns& patterns);

// Returns the patterns that fit none of the paths. A misspelt name must not look like code that
// is covered.
std::vector<std::string> UnmatchedPatterns(const std::vector<std::string>& patterns,
                                           const std::vector<std::string>& paths);

// Returns the names of the functions that executed most often, at most `most` of them. Leaves out
// names that begin with an underscore, which belong to the compiler and its libraries.
std::set<std::string> MostExecutedFunctions(const CoverageReport& report, size_t most);

}  // namespace flowback
