// SPDX-License-Identifier: MIT
// `flowback coverage`: what ran of the code that there is, and what never did.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/coverage/cover_command.h"
#include "cli/coverage/coverage_job.h"
#include "cli/coverage/coverage_options.h"
#include "cli/help/completion.h"
#include "cli/options/arguments.h"
#include "cli/text/status.h"

namespace flowback::cli {

int RunCoverage(const Arguments& arguments) {
  CLI::App app("Tells what ran of the code that there is, and what never did.",
               "flowback coverage");
  CoverageOptions options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  AddCoverageOptions(app, options, words);
  if (const std::optional<int> status = CompleteRecorded(app, arguments, words, options.reader))
    return *status;
  const auto end = std::ranges::find(arguments, "--");
  if (const std::optional<int> status = Parse(app, Arguments(arguments.begin(), end)))
    return *status;
  if (Status status = UnderstandCoverage(options); !status) return Report(status.error());
  if (end != arguments.end())
    return CoverCommand(Arguments(end + 1, arguments.end()), options, words);
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  return CoverageJob(options).Run();
}

}  // namespace flowback::cli
