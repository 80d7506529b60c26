// SPDX-License-Identifier: MIT
#include "replay/coverage/report/code_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/path_text.h"

namespace flowback {
namespace {

bool FitsPath(const std::string& pattern, const std::string& path) {
  return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), std::string(LastPart(path)).c_str(), 0) == 0;
}

bool FitsAny(const std::vector<std::string>& patterns, const std::string& path) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return FitsPath(pattern, path); });
}

}  // namespace

CoverageChoice ChoiceOf(const CodePatterns& patterns) {
  CoverageChoice choice;
  if (!patterns.objects.empty())
    choice.object = [&patterns](const ObjectId& id) { return FitsAny(patterns.objects, id.path); };
  if (patterns.function)
    choice.function = [&patterns](const StaticFunction& function) {
      return patterns.function->Matches(function.name);
    };
  if (!patterns.include.empty() || !patterns.exclude.empty())
    choice.source = [&patterns](const std::string& file) {
      return (patterns.include.empty() || FitsAny(patterns.include, file)) &&
             !FitsAny(patterns.exclude, file);
    };
  return choice;
}

std::vector<std::string> UnmatchedPatterns(const std::vector<std::string>& patterns,
                                           const std::vector<std::string>& paths) {
  std::vector<std::string> unmatched;
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(paths,
                             [&](const std::string& path) { return FitsPath(pattern, path); }))
      unmatched.push_back(pattern);
  return unmatched;
}

std::set<std::string> MostExecutedFunctions(const CoverageReport& report, size_t most) {
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
  for (size_t i = 0; i < found.size() && names.size() < most; ++i) names.insert(found[i].second);
  return names;
}

}  // namespace flowback
