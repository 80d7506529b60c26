// SPDX-License-Identifier: MIT
// `flowback diff`: what a newer run executed otherwise than an older one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/diff/diff_job.h"
#include "cli/diff/diff_options.h"
#include "cli/options/arguments.h"
#include "cli/reading/code_choice.h"
#include "cli/reading/reading_command.h"

namespace flowback::cli {
namespace {

void AddDiffOptions(CLI::App& app, DiffOptions& options, ReaderWords& words) {
  options.words = &words;
  app.get_option("INPUT")->description("Recording or part file of the older run");
  app.add_option("NEW", options.other, "Recording or part file of the newer run");
  app.add_option(
      "--old", options.old,
      "Recordings of the old side, or part files (counts of `coverage --save`); several show "
      "the noise");
  app.add_option("--new", options.now, "Recordings or part files of the new side");
  AddCodeChoice(app, options.patterns, options.function);
  app.add_option("--top", options.top, "Lines of each list (default 10)");
  app.add_option("--min-change", options.min_change,
                 "Leave out changes below this share of all instructions (default 0.1 %)");
  AddRepeatable(
      app, "--fail-if", options.fail_if,
      "Exit with 1 if this holds, such as 'instructions(main) > 1.02x'; repeatable. "
      "Measures: instructions(F) and time(F) with callees, self(F), calls(F), off_cpu(F), "
      "waits(F) and waiting(F) with --waits, coverage(KIND), new(), gone(). Bounds: 1.02x, +5%, "
      "+1000, 80%, 5ms");
  app.add_option("--junit", options.junit, "Write each --fail-if as a test case to FILE");
  app.add_option("--sarif", options.sarif,
                 "Write each --fail-if that holds to FILE, as SARIF 2.1.0 for code hosts");
  app.add_flag("--waits", options.waits,
               "Also compare how often and how long threads waited for each other");
  app.add_option("--html", options.html,
                 "Write a page to sort and search in instead of the text, as one HTML file");
  app.footer(
      "`flowback help output diff` explains the tables, the limits of --fail-if and the JSON.");
}

Error OneSideOnly(const std::string& missing) {
  return Error(ErrorCode::kUsage,
               "diff: nothing to compare with: no recording of the " + missing + " side is named")
      .Remedy("`flowback diff OLD NEW`, or `flowback diff --old FILE... --new FILE...`");
}

Error FromStandardInput() {
  return Error(ErrorCode::kUsage,
               "diff: standard input gives a recording once, and several passes read each one")
      .Remedy("write the recording to a file, and name that file");
}

// The positional words name a recording of each side.
Status UnderstandSides(DiffOptions& options) {
  ReaderWords& words = *options.words;
  std::string& first = words.input.empty() ? words.input_option : words.input;
  if (!first.empty()) options.old.insert(options.old.begin(), first);
  if (!options.other.empty()) options.now.insert(options.now.begin(), options.other);
  if (options.old.empty()) return Fail(OneSideOnly("old"));
  if (options.now.empty()) return Fail(OneSideOnly("new"));
  if (first.empty()) words.input = options.old.front();
  for (const std::vector<std::string>* const side : {&options.old, &options.now})
    for (const std::string& input : *side)
      if (input == "-" || input == "/dev/stdin") return Fail(FromStandardInput());
  return {};
}

Status UnderstandDiff(DiffOptions& options) {
  if (!options.reader.open.raw_pt.empty())
    return Fail(
        Error(ErrorCode::kUsage, "diff: --raw-pt does not apply")
            .Remedy("two recordings, or part files of `coverage --raw-pt FILE --save PART`"));
  if (!options.reader.time.empty())
    return Fail(
        Error(ErrorCode::kUsage, "diff: --time does not apply, because it compares whole runs")
            .Remedy("part files of `coverage --time A,B --save PART`"));
  if (!(options.min_change >= 0 && options.min_change <= 100))
    return Fail(Error(ErrorCode::kUsage, "diff: --min-change is a share from 0 to 100 per cent")
                    .Remedy("--min-change 0.1"));
  for (const auto& [word, file] :
       {std::pair("--junit", &options.junit), std::pair("--sarif", &options.sarif)})
    if (!file->empty() && options.fail_if.empty())
      return Fail(
          Error(ErrorCode::kUsage,
                fmt::format("diff: {} writes the limits of --fail-if, and none is given", word))
              .Remedy("--fail-if 'instructions(main) > 1.02x'"));
  if (!options.html.empty() && !options.reader.output.empty())
    return Fail(Error(ErrorCode::kUsage, "diff: --html and -o both name the output")
                    .Remedy("--html FILE alone"));
  if (!options.html.empty()) options.reader.output = options.html;
  for (const std::string& text : options.fail_if) {
    Result<DiffLimit> limit = DiffLimit::Parse(text);
    if (!limit) return Fail(limit.error());
    if (limit->MeasuresWaits() && !options.waits)
      return Fail(Error(ErrorCode::kUsage, "diff: --fail-if '" + text +
                                               "' needs --waits, because "
                                               "the search for waits takes longer")
                      .Remedy("--waits --fail-if '" + text + "'"));
    options.limits.push_back(*std::move(limit));
  }
  if (Status status = UnderstandFunction(options.function, options.patterns); !status)
    return status;
  return UnderstandSides(options);
}

}  // namespace

int RunDiff(const Arguments& arguments) {
  return ExecuteReading<DiffOptions>(
      arguments,
      {.name = "diff",
       .summary = "Shows what a newer run executed otherwise than an older one.",
       .add_options = AddDiffOptions,
       .hidden = {"--time", "--raw-pt", "--pevent", "--sample-type", "--time-conv", "--cpu",
                  "--tsc-ctc", "--mtc-freq", "--nominal-freq", "--filter", "--section"},
       .understand_first = UnderstandDiff,
       .run = [](const DiffOptions& options) { return DiffJob(options).Run(); }});
}

}  // namespace flowback::cli
