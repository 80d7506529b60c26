// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_options.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "cli/coverage/coverage_words.h"
#include "cli/options/arguments.h"

namespace flowback::cli {
namespace {

struct Metric {
  std::string_view name;
  CoverageShare CoverageShares::* share;
};
constexpr Metric kMetrics[] = {
    {"lines", &CoverageShares::lines},
    {"functions", &CoverageShares::functions},
    {"branches", &CoverageShares::branches},
    {"blocks", &CoverageShares::blocks},
    {"instructions", &CoverageShares::instructions},
};

Result<CoverageGoal> ParseGoal(const std::string& words) {
  const size_t colon = words.find(':');
  CoverageGoal goal;
  if (colon != std::string::npos) goal.of = words.substr(0, colon);
  const std::string number = colon == std::string::npos ? words : words.substr(colon + 1);
  char* end = nullptr;
  goal.percent = std::strtod(number.c_str(), &end);
  const bool known = goal.of.empty() || std::ranges::find(kMetrics, std::string_view(goal.of),
                                                          &Metric::name) != std::end(kMetrics);
  if (known && !number.empty() && *end == '\0' && goal.percent >= 0 && goal.percent <= 100)
    return goal;
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("--fail-under: can't understand '{}'", words))
          .Remedy(
              "--fail-under 80, or of one kind: lines:80, functions:80, branches:80, blocks:80, "
              "instructions:80"));
}

const Metric& MetricFor(const CoverageGoal& goal, const CoverageShares& shares) {
  const std::string_view name = !goal.of.empty()          ? std::string_view(goal.of)
                                : shares.lines.total != 0 ? "lines"
                                                          : "instructions";
  return *std::ranges::find(kMetrics, name, &Metric::name);
}

}  // namespace

bool FitsPath(const std::vector<std::string>& patterns, const std::string& path) {
  const std::string last(LastPart(path));
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 ||
           fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
  });
}

void AddCoverageOptions(CLI::App& app, CoverageOptions& options, ReaderWords& words) {
  app.add_option("MORE", options.more, "further recordings and parts, whose counts are added");
  app.add_option("--thread", words.tid, "the same as --tid");
  std::string formats;
  for (const CoverageFormat& format : CoverageFormats())
    formats += fmt::format("{}{} ({})", formats.empty() ? "" : ", ", format.name, format.summary);
  app.add_option("--format", options.format, "what is written: " + formats);
  AddRepeatable(app, "--object", options.objects,
                "only this file of code: its path, its last part, or a pattern (libz*)");
  app.add_option("--function", options.function,
                 "only this function: its name, a pattern (str*) or /an expression/");
  AddRepeatable(app, "--include", options.include,
                "only code of these source files: a path, its last part, or a pattern");
  AddRepeatable(app, "--exclude", options.exclude, "no code of these source files");
  app.add_option("--source-root", options.source_root,
                 "folder under which the source lies, if not where it was compiled");
  app.add_option("--sort", options.sort, "functions that never ran by size (usual), name, address")
      ->check(CLI::IsMember({"size", "name", "address"}));
  app.add_option("--top", options.top, "so many lines of each list (20)");
  app.add_flag("--by-thread", options.by_thread, "a summary for each thread");
  app.add_option("--save", options.save,
                 "keep the counts in this file, a part: it can be an input later, and be merged");
  app.add_option("--baseline", options.baseline,
                 "an older part: which functions are newly executed, and which no longer");
  app.add_option("--fail-under", options.fail_under,
                 "status 1 where less was executed: PERCENT of the lines (of the instructions, "
                 "where no lines are known), or KIND:PERCENT");
  app.footer("`flowback help output` describes the text and the JSON.");
}

Status UnderstandCoverage(CoverageOptions& options) {
  if (options.reader.json) options.format = "json";
  Result<const CoverageFormat*> format = FindCoverageFormat(options.format);
  if (!format) return Fail(format.error());
  options.writer = *format;
  if (options.by_thread && options.writer->name != "summary")
    return Fail(Error(ErrorCode::kUsage, "--by-thread is about the summary")
                    .Remedy("choose threads by --tid for other formats"));
  if (options.by_thread && (!options.fail_under.empty() || !options.baseline.empty()))
    return Fail(Error(ErrorCode::kUsage,
                      "--by-thread writes a summary for each thread, to which --fail-under and "
                      "--baseline do not apply")
                    .Remedy("choose one thread by --tid"));
  if (!options.function.empty()) {
    Result<NamePattern> pattern = NamePattern::Parse(options.function);
    if (!pattern) return Fail(pattern.error());
    options.pattern = *std::move(pattern);
  }
  if (!options.fail_under.empty()) {
    Result<CoverageGoal> goal = ParseGoal(options.fail_under);
    if (!goal) return Fail(goal.error());
    options.goal = *goal;
  }
  return {};
}

CoverageChoice ChoiceOf(const CoverageOptions& options) {
  CoverageChoice choice;
  if (!options.objects.empty())
    choice.object = [&options](const ObjectId& id) { return FitsPath(options.objects, id.path); };
  if (options.pattern)
    choice.function = [&options](const StaticFunction& function) {
      return options.pattern->Matches(function.name);
    };
  if (!options.include.empty() || !options.exclude.empty())
    choice.source = [&options](const std::string& file) {
      return (options.include.empty() || FitsPath(options.include, file)) &&
             !FitsPath(options.exclude, file);
    };
  return choice;
}

const CoverageShare& ShareFor(const CoverageGoal& goal, const CoverageShares& shares) {
  return shares.*MetricFor(goal, shares).share;
}

std::string_view NameFor(const CoverageGoal& goal, const CoverageShares& shares) {
  return MetricFor(goal, shares).name;
}

}  // namespace flowback::cli
