// SPDX-License-Identifier: MIT
#include "cli/reading/reading_job.h"

#include "cli/text/terminal_session.h"

namespace flowback::cli {

int ReadingJob::Execute() {
  std::optional<Output> output;
  return Execute(output, OutputOwner::kJob);
}

int ReadingJob::Execute(std::optional<Output>& output, OutputOwner owner) {
  // An error of these two names the file that it is about.
  if (Status status = Prepare(); !status) return Report(status.error());
  if (Status status = Gather(); !status) return opened_.EndWithout(status.error());
  if (Status opened = OpenOutput(output, owner); !opened) return Report(opened.error());
  Status status = Run(*output);
  if (status) status = AddLosses(*output);
  if (owner == OutputOwner::kJob) {
    if (!status && !KeepsPart()) output->Discard();
    if (Status written = output->Finish(status.has_value()); !written)
      return Report(written.error());
    if (output->closed()) return kDone;
  } else if (status) {
    status = opened_.CheckInputs();
  }
  return End(status);
}

Status ReadingJob::OpenOutput(std::optional<Output>& output, OutputOwner owner) {
  if (owner == OutputOwner::kCaller) return opened_.ShareOutput(output);
  Result<Output> opened = opened_.OpenOutput(OutputPath());
  if (!opened) return Fail(opened.error());
  output.emplace(*std::move(opened));
  return {};
}

// A reader that closed the output needs no more.
Status ReadingJob::AddLosses(Output& output) {
  if (MeetsAllLosses() || !opened_.has_inputs() || output.closed()) return {};
  opened_.inputs().set_times(false);
  return opened_.FindLosses();
}

int ReadingJob::End(const Status& status) {
  for (const std::string& problem : names_.lines.Problems()) Warn(problem);
  return opened_.End(status, {.keep_more = [this] { Keep(); },
                              .tell_how =
                                  [this] {
                                    if (IsVerbose()) TellHow();
                                  },
                              .judge_result = [this] { return JudgeResult(); }});
}

}  // namespace flowback::cli
