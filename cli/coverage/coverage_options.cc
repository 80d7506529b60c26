// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "cli/options/arguments.h"
#include "cli/reading/code_choice.h"
#include "cli/text/format_list.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

Result<CoverageGoal> ParseGoal(const std::string& words) {
  const size_t colon = words.find(':');
  CoverageGoal goal;
  if (colon != std::string::npos) goal.of = words.substr(0, colon);
  const std::string number = colon == std::string::npos ? words : words.substr(colon + 1);
  char* end = nullptr;
  goal.percent = std::strtod(number.c_str(), &end);
  const bool known = goal.of.empty() || FindCoverageMetric(goal.of) != nullptr;
  if (known && !number.empty() && *end == '\0' && goal.percent >= 0 && goal.percent <= 100)
    return goal;
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("--fail-under: can't understand '{}'", words))
          .Remedy(
              "--fail-under 80, or of one kind: lines:80, functions:80, branches:80, blocks:80, "
              "instructions:80"));
}

Error UnknownFormat(const std::string& word) {
  return Error(ErrorCode::kUsage, fmt::format("coverage: there is no format '{}'", word))
      .Remedy("--format with one of " + NamesOf(WritersOf<CoverageWriter>()));
}

}  // namespace

void AddCoverageOptions(CLI::App& app, CoverageOptions& options, ReaderWords& words) {
  app.add_option("MORE", options.more, "Further recordings and part files, whose counts are added");
  app.add_option("--thread", words.tid, "Select threads by number, as --tid");
  app.add_option("--format", options.format,
                 "Format to write: " + SummariesOf(WritersOf<CoverageWriter>()));
  AddCodeChoice(app, options.patterns, options.function);
  app.add_option("--source-root", options.source_root,
                 "Look for the source under this folder, if it is not where it was compiled");
  app.add_option("--sort", options.sort,
                 "Sort functions that never ran by size (default), name or address")
      ->check(CLI::IsMember({"size", "name", "address"}));
  app.add_option("--top", options.top, "Lines of each list (default 20)");
  app.add_flag("--by-thread", options.by_thread, "Print a summary for each thread");
  app.add_option("--save", options.save,
                 "Also write a part file: the counts without the trace, which can be an input "
                 "later, and be merged");
  app.add_option("--baseline", options.baseline,
                 "Compare with an older part file: list newly executed functions, and those no "
                 "longer executed");
  app.add_option("--fail-under", options.fail_under,
                 "Exit with 1 if less than PERCENT was executed of KIND: lines (default; "
                 "instructions, if no lines are known), functions, blocks, instructions, or "
                 "branches: directions, taken or not, of conditional branches");
  app.footer(
      "With -- CMD, --engine may name an engine that records (emulate, which is usual; step).\n"
      "`flowback help output coverage` describes the text and the JSON.");
}

Status UnderstandCoverage(CoverageOptions& options) {
  if (options.reader.json) options.format = "json";
  options.writer = FindWriter<CoverageWriter>(options.format);
  if (!options.writer) return Fail(UnknownFormat(options.format));
  if (options.by_thread && options.writer->name != "summary")
    return Fail(Error(ErrorCode::kUsage, "--by-thread is about the summary")
                    .Remedy("choose threads by --tid for other formats"));
  if (options.by_thread && (!options.fail_under.empty() || !options.baseline.empty()))
    return Fail(Error(ErrorCode::kUsage,
                      "--by-thread writes a summary for each thread, to which --fail-under and "
                      "--baseline do not apply")
                    .Remedy("choose one thread by --tid"));
  // It also makes names relative, for which it need not be on this machine.
  if (std::error_code ignored;
      !options.source_root.empty() && !std::filesystem::is_directory(options.source_root, ignored))
    Warn(fmt::format("--source-root {}: there is no such folder", options.source_root),
         {"the folder of the source, from which recorded names may be made relative"});
  if (Status status = UnderstandFunction(options.function, options.patterns); !status)
    return status;
  if (!options.fail_under.empty()) {
    Result<CoverageGoal> goal = ParseGoal(options.fail_under);
    if (!goal) return Fail(goal.error());
    options.goal = *goal;
  }
  return {};
}

const CoverageMetric& MetricFor(const CoverageGoal& goal, const CoverageShares& shares) {
  return goal.of.empty() ? UsualCoverageMetric(shares) : *FindCoverageMetric(goal.of);
}

}  // namespace flowback::cli
