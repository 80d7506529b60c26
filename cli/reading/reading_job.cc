// SPDX-License-Identifier: MIT
#include "cli/reading/reading_job.h"

#include "cli/text/terminal_session.h"

namespace flowback::cli {

int ReadingJob::Execute() {
  // An error of these two names the file that it is about.
  if (Status status = Prepare(); !status) return Report(status.error());
  if (Status status = Gather(); !status) return opened_.EndWithout(status.error());
  Result<Output> output = opened_.OpenOutput(OutputPath());
  if (!output) return Report(output.error());
  Status status = Run(*output);
  if (status) status = AddLosses(*output);
  return Finish(*output, status);
}

// Who closed the output wants to know no more.
Status ReadingJob::AddLosses(Output& output) {
  if (MeetsAllLosses() || !opened_.has_inputs() || output.closed()) return {};
  opened_.inputs().set_times(false);
  return opened_.FindLosses();
}

int ReadingJob::Finish(Output& output, const Status& status) {
  if (Status written = output.Finish(); !written) return Report(written.error());
  if (output.closed()) return kDone;
  for (const std::string& problem : names_.lines.Problems()) Warn(problem);
  return opened_.End(status, {.keep_more = [this] { Keep(); },
                              .tell_how =
                                  [this] {
                                    if (IsVerbose()) TellHow();
                                  },
                              .warn_of_result = [this] { WarnOfResult(); }});
}

}  // namespace flowback::cli
