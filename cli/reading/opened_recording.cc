// SPDX-License-Identifier: MIT
#include "cli/reading/opened_recording.h"

#include "cli/reading/cut_files.h"
#include "cli/reading/image_report.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"

namespace flowback::cli {

Status OpenedRecording::ChooseThreads() {
  threads().GroupByThread(recording(), inputs());
  return Select(options_, threads());
}

Result<Output> OpenedRecording::OpenOutput(const std::string& path) const {
  ReaderOptions options = options_;
  if (!path.empty()) options.output = path;
  Result<Output> output = cli::OpenOutput(options, recording(), code_or_null());
  if (output) output->CheckWith([this] { return CheckInputs(); });
  return output;
}

Status OpenedRecording::ShareOutput(std::optional<Output>& output) const {
  if (output)
    return CheckMayOverwrite(options_.output, "the output", options_, recording(), code_or_null());
  Result<Output> opened = cli::OpenOutput(options_, recording(), code_or_null());
  if (!opened) return Fail(opened.error());
  output.emplace(*std::move(opened));
  return {};
}

Status OpenedRecording::CheckInputs() const { return CheckUncut(recording(), code_or_null()); }

// A recording without a stream uses no image.
void OpenedRecording::WarnOfMissing() const {
  WarnOfLosses(losses(), InputName());
  if (!has_code()) return;
  if (!recording().streams.empty()) WarnOfImages(losses().images(), code(), options_);
  WarnOfModes(code(), InputName());
}

int OpenedRecording::End(const Status& status, const EndSteps& steps) {
  AddRecordedLosses();
  WarnOfMissing();
  Keep(steps.keep_more);
  if (has_code()) WarnOfCache(code());
  if (steps.tell_how) steps.tell_how();
  if (!status) return Report(status.error(), InputName());
  if (recording().refusal) return Report(*recording().refusal);
  const Status judged = steps.judge_result ? steps.judge_result() : Status();
  return judged ? ExitStatus() : Report(judged.error(), InputName());
}

int OpenedRecording::EndWithout(const Error& error) {
  AddRecordedLosses();
  WarnOfMissing();
  if (recording().refusal) return Report(*recording().refusal);
  const int status = Report(error, InputName());
  const int strict = ExitStatus();
  return strict != kDone && status == kFailed ? strict : status;
}

}  // namespace flowback::cli
