// SPDX-License-Identifier: MIT
// `flowback crash`: what happened before a process died.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/crash/crash_options.h"
#include "cli/reading/reading_command.h"

namespace flowback::cli {
namespace {

void AddCrashOptions(CLI::App& app, CrashWords& words, ReaderWords&) {
  app.get_option("--core")->description(
      "Take values of registers and memory from a core dump, and code that no file has (default: "
      "the dump that `record` noted)");
  app.add_option("--pid", words.pid,
                 "Process that died (default: the first one that a signal killed)");
  app.add_option("--last", words.last,
                 "Number of calls, lines and instructions shown of each thread (default 20, at "
                 "most 100,000)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{100000}));
  app.add_option("--why", words.why,
                 "Register or address whose last value is followed back (default: the source of "
                 "the bad address)");
}

Status UnderstandCrash(const CLI::App&, CrashWords& words) {
  if (words.reader.time.empty()) return {};
  return Fail(Error(ErrorCode::kUsage, "crash looks at a process' end: --time does not apply")
                  .Remedy("flowback replay --at TIME, or flowback stack --at TIME"));
}

}  // namespace

int RunCrash(const Arguments& arguments) {
  return ExecuteReading<CrashWords>(
      arguments, {.name = "crash",
                  .summary = "Explains why a process died, from its flow and its core dump.",
                  .add_options = AddCrashOptions,
                  .hidden = {"--time"},
                  .understand = UnderstandCrash,
                  .run = Crash});
}

}  // namespace flowback::cli
