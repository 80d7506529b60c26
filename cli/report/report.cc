// SPDX-License-Identifier: MIT
// `flowback report`: all analyses of a recording in one page.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/reading_command.h"
#include "cli/report/report_job.h"
#include "cli/report/report_options.h"
#include "cli/text/terminal.h"

namespace flowback::cli {
namespace {

void AddReportOptions(CLI::App& app, ReportOptions& options, ReaderWords&) {
  app.get_option("--output")->description("Write the page to FILE, e.g. report.html");
  app.add_option("MORE", options.more, "Further recordings, each with its own part of the page");
  app.add_option("--function", options.function,
                 "Explain the slow calls of this function (default: of the program's own loops)");
  app.add_option("--title", options.title, "Heading of the page");
  app.footer("With --json it prints the page's data. `flowback help output` describes it.");
}

// Options that the report itself follows; the commands that it runs get all others.
bool IsOwn(const CLI::Option& option) {
  static constexpr std::string_view kOwn[] = {"output",  "force", "json",  "function",
                                              "title",   "help",  "quiet", "help-all",
                                              "verbose", "color", "input", "no-pager"};
  if (option.get_lnames().empty()) return true;
  return std::ranges::find(kOwn, option.get_lnames().front()) != std::end(kOwn);
}

void PassOptions(const CLI::App& app, ReportOptions& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || IsOwn(*option)) continue;
    const std::string name = "--" + option->get_lnames().front();
    if (option->get_items_expected_max() == 0) {
      options.passed.push_back(name);
      continue;
    }
    for (const std::string& value : option->results()) options.passed.push_back(name + "=" + value);
  }
}

Status UnderstandReport(const CLI::App& app, ReportOptions& options) {
  options.version = FLOWBACK_VERSION;
  PassOptions(app, options);
  const std::string& output = options.reader.output;
  if (output.empty() && !options.reader.json && IsTerminal(STDOUT_FILENO))
    return Fail(Error(ErrorCode::kUsage, "report: a page is no text for a terminal")
                    .Remedy("name a file with -o report.html"));
  const bool from_pipe = options.reader.open.input == "/dev/stdin" ||
                         std::ranges::find(options.more, "-") != options.more.end();
  if (!from_pipe) return {};
  return Fail(Error(ErrorCode::kUsage,
                    "report: each analysis reads the recording, which standard input gives once")
                  .Remedy("write the recording to a file, and name that file"));
}

}  // namespace

int RunReport(const Arguments& arguments) {
  return ExecuteReading<ReportOptions>(
      arguments,
      {.name = "report",
       .summary = "Writes one page for a colleague: what ran, what was slow, what is not known.",
       .add_options = AddReportOptions,
       .understand = UnderstandReport,
       .run = RunReportJob});
}

}  // namespace flowback::cli
