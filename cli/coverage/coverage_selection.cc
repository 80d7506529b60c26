// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "replay/coverage/report/code_patterns.h"
#include "replay/writers/text/first_few.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

// "there are a, b and 3 more"
std::string ListOfChoices(const std::set<std::string>& names, const char* none) {
  if (names.empty()) return none;
  return "there are " + FirstFew(names | std::views::transform([](const std::string& name) {
                                   return Printable(name);
                                 }));
}

void FindIn(const char* option, const std::vector<std::string>& patterns,
            const std::vector<std::string>& names, const char* what, const char* none,
            std::vector<UnmatchedChoice>& unmatched) {
  const std::vector<std::string> missed = UnmatchedPatterns(patterns, names);
  for (const std::string& pattern : missed)
    unmatched.push_back({fmt::format("{} {}: no such {}", option, Printable(pattern), what),
                         ListOfChoices({names.begin(), names.end()}, none),
                         missed.size() == patterns.size()});
}

}  // namespace

std::vector<UnmatchedChoice> FindUnmatched(const CoverageOptions& options,
                                           const CoverageCounts& counts,
                                           const CoverageReport& report) {
  std::vector<UnmatchedChoice> unmatched;
  std::vector<std::string> objects;
  for (const ObjectCounts& object : counts.objects) objects.push_back(object.id.path);
  FindIn("--object", options.patterns.objects, objects, "object", "no code was mapped", unmatched);
  FindIn("--include", options.patterns.include, report.files, "source file",
         "no source lines are known; build with -g, or name the debug information with --debug-dir",
         unmatched);
  if (options.patterns.function &&
      std::ranges::all_of(report.objects,
                          [](const ObjectCoverage& object) { return object.functions.empty(); }))
    unmatched.push_back(
        {fmt::format("--function {}: no object has such a function", Printable(options.function)),
         "its name as the report prints it, a pattern ('str*'), or a regular expression "
         "('/^str/'); " +
             ListOfChoices(MostExecutedFunctions(report, kNamedFirst), "no function is known"),
         true});
  return unmatched;
}

}  // namespace flowback::cli
