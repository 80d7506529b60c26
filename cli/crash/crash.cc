// SPDX-License-Identifier: MIT
// `flowback crash`: what happened before a process died.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/crash/crash_options.h"
#include "cli/reading/reading_command.h"

namespace flowback::cli {
namespace {

void AddCrashOptions(CLI::App& app, CrashWords& words, ReaderWords&) {
  app.add_option("--pid", words.pid,
                 "the process that died (default: the first one that a signal killed)");
  app.add_option("--last", words.last,
                 "calls, lines and instructions that are shown of each thread (default 20)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{100000}));
  app.add_option("--why", words.why,
                 "the register or address whose value at the end is followed back (default: the "
                 "one that the bad address came from)");
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
                  .summary = "Tells what happened before a process died, from its flow and its "
                             "core dump.",
                  .add_options = AddCrashOptions,
                  .hidden = {"--time"},
                  .understand = UnderstandCrash,
                  .run = Crash});
}

}  // namespace flowback::cli
