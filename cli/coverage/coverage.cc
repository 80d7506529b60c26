// SPDX-License-Identifier: MIT
// `flowback coverage`: what ran of the code that there is, and what never did.
#include "cli/command.h"
#include "cli/coverage/cover_command.h"
#include "cli/coverage/coverage_job.h"
#include "cli/coverage/coverage_options.h"
#include "cli/help/completion.h"
#include "cli/reading/reading_command.h"

namespace flowback::cli {

int RunCoverage(const Arguments& arguments) {
  return ExecuteReading<CoverageOptions>(
      arguments, {.name = "coverage",
                  .summary = "Shows which code of a program ran, and which never did.",
                  .add_options = AddCoverageOptions,
                  .complete = CompleteRecorded,
                  .understand_first = UnderstandCoverage,
                  .run = [](const CoverageOptions& options) { return CoverageJob(options).Run(); },
                  .run_program = CoverCommand});
}

}  // namespace flowback::cli
