// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "cli/coverage/coverage_words.h"
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

template <class Names>
void FindIn(const char* option, const std::vector<std::string>& patterns, const Names& names,
            const char* what, const char* none, std::vector<UnmatchedChoice>& unmatched) {
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(names,
                             [&](const std::string& name) { return FitsPath({pattern}, name); }))
      unmatched.push_back({fmt::format("{} {}: no such {}", option, Printable(pattern), what),
                           ListOfChoices({names.begin(), names.end()}, none)});
}

// Those that executed most often: of all functions there are too many to be named.
std::set<std::string> FunctionNames(const CoverageReport& report) {
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const ObjectCoverage& object : report.objects) {
    if (object.code == nullptr) continue;
    for (const StaticFunction& function : object.code->functions()) {
      if (function.is_stub || function.block_count == 0 || function.name.empty()) continue;
      const auto& first = object.code->blocks()[function.first_block];
      const uint64_t times = object.times[first.first];
      if (times != 0 && function.name[0] != '_') found.emplace_back(times, function.name);
    }
  }
  std::ranges::sort(found, std::ranges::greater());
  std::set<std::string> names;
  for (size_t i = 0; i < found.size() && names.size() < kNamedFirst; ++i)
    names.insert(found[i].second);
  return names;
}

}  // namespace

std::vector<UnmatchedChoice> FindUnmatched(const CoverageOptions& options,
                                           const CoverageCounts& counts,
                                           const CoverageReport& report) {
  std::vector<UnmatchedChoice> unmatched;
  std::vector<std::string> objects;
  for (const ObjectCounts& object : counts.objects) objects.push_back(object.id.path);
  FindIn("--object", options.objects, objects, "object", "no code was mapped", unmatched);
  FindIn("--include", options.include, report.files, "source file",
         "no source lines are known; build with -g, or name the debug information with --debug-dir",
         unmatched);
  if (options.pattern && std::ranges::all_of(report.objects, [](const ObjectCoverage& object) {
        return object.functions.empty();
      }))
    unmatched.push_back(
        {fmt::format("--function {}: no object has such a function", Printable(options.function)),
         "its name as the report prints it, a pattern ('str*'), or a regular expression "
         "('/^str/'); " +
             ListOfChoices(FunctionNames(report), "no function is known")});
  return unmatched;
}

}  // namespace flowback::cli
