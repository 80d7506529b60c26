// SPDX-License-Identifier: MIT
// The program `flowback`: picks the subcommand and runs it.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/reading/cut_files.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace {

using flowback::cli::Arguments;

// `flowback --help` and `--version` as the same-named commands.
std::string_view CommandName(std::string_view word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version" || word == "-V") return "version";
  return word;
}

int Run(int argc, char** argv) {
  if (argc < 2) {
    flowback::cli::RunHelp({});
    return flowback::cli::kWrongUsage;
  }
  const flowback::cli::Command* command = flowback::cli::FindCommand(CommandName(argv[1]));
  if (command == nullptr) return flowback::cli::Report(flowback::cli::UnknownCommand(argv[1]));
  flowback::cli::SurviveCutFiles();
  return command->run(Arguments(argv + 2, argv + argc));
}

// Where no memory is left, neither is any for an Error.
int ReportOutOfMemory() {
  std::fputs(
      "flowback: out of memory: what was printed before is right, and not all of it\n"
      "  try: allow more (ulimit -v), decode with fewer --threads, or choose less with --tid or "
      "--time\n",
      stderr);
  return flowback::cli::kFailed;
}

}  // namespace

// The one place that catches: no function of ours throws, but any allocation may.
int main(int argc, char** argv) {
  try {
    const int status = Run(argc, argv);
    flowback::cli::EndTerminalSession();
    return status;
  } catch (const std::bad_alloc&) {
    return ReportOutOfMemory();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "flowback: failed: %s\n  try: report it, with the command and its input\n",
                 exception.what());
    return flowback::cli::kFailed;
  }
}
