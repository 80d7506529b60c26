// SPDX-License-Identifier: MIT
#include "cli/reading/reading_job.h"

#include "cli/text/terminal_session.h"

namespace flowback::cli {

int ReadingJob::Execute() {
  // An error of these two names the file that it is about.
  if (Status status = Prepare(); !status) return Report(status.error());
  if (Status status = Gather(); !status) return EndWithout(status.error());
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

int ReadingJob::EndWithout(const Error& error) {
  opened_.AddRecordedLosses();
  opened_.TellMissing();
  if (opened_.recording().refusal) return Report(*opened_.recording().refusal);
  const int status = Report(error, opened_.InputName());
  const int strict = opened_.ExitStatus();
  return strict != kDone && status == kFailed ? strict : status;
}

int ReadingJob::Finish(Output& output, const Status& status) {
  if (Status written = output.Finish(); !written) return Report(written.error());
  if (output.closed()) return kDone;
  for (const std::string& problem : names_.lines.Problems()) Warn(problem);
  opened_.AddRecordedLosses();
  opened_.TellMissing();
  opened_.Keep([this] { Keep(); });
  if (IsVerbose()) TellHow();
  if (!status) return Report(status.error(), opened_.InputName());
  if (opened_.recording().refusal) return Report(*opened_.recording().refusal);
  WarnOfResult();
  return opened_.ExitStatus();
}

}  // namespace flowback::cli
