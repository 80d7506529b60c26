// SPDX-License-Identifier: MIT
#include "cli/reading/counting_job.h"

#include "cli/reading/time_words.h"

namespace flowback::cli {

Status CountingJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  const std::string& words = opened_.options().time;
  Result<TimeSpan> span = ParseTimeSpan(words, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  if (Status status = CheckSpan(opened_.recording(), opened_.clock(), *span, opened_.options());
      !status)
    return status;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(!words.empty());
  if (!words.empty()) in_span_.emplace(opened_.Flow(), SpanNeeds{.span = *span}, opened_.clock());
  return opened_.ChooseThreads();
}

Status CountingJob::Run(Output& output) {
  opened_.AddKnownLosses();
  CoverageRequest request = opened_.CoverageInput();
  request.on_loss = [this](const DataLoss& loss) { opened_.losses().Add(loss); };
  if (in_span_) {
    request.flow.make_decoder = in_span_->Source().make_decoder;
    request.check = {};  // the bytes of a part do not add up
  }
  const WorkProgress progress = opened_.ShowProgress(work_, opened_.SelectedBytes());
  return Count(request, output);
}

Status CountingJob::JudgeResult() {
  if (has_flow()) return {};
  return JudgeEmptySpan(opened_.recording(), opened_.clock(), in_span_->span(), opened_.options());
}

}  // namespace flowback::cli
