// SPDX-License-Identifier: MIT
#include "cli/coverage/counted_input.h"

#include <fmt/format.h>

#include <memory>

#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/status.h"
#include "flowback/replay/coverage_counter.h"
#include "replay/flow/span_decoder.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

Status CountedInput::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  Result<TimeSpan> span =
      ParseTimeSpan(opened_.options().time, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  span_ = *span;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(!CountsAll());
  opened_.AddRecordedLosses();
  return {};
}

Result<std::unique_ptr<Decoder>> CountedInput::NewDecoder() {
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder || CountsAll()) return decoder;
  return MakeSpanDecoder(std::move(*decoder), {span_, false}, opened_.clock(), found_in_span_);
}

std::string CountedInput::NameOf(const StreamOwner& thread) const {
  if (thread.tid < 0) return thread.label;
  const std::string_view comm = opened_.threads().CommAt(thread.tid, 0).comm;
  return comm.empty() ? thread.label : fmt::format("{} {}", thread.label, Printable(comm));
}

CoverageRequest CountedInput::Request() {
  CoverageRequest request{
      .recording = opened_.recording(),
      .code = opened_.code(),
      .flow = {.inputs = opened_.inputs(), .make_decoder = [this] { return NewDecoder(); }},
      .owners = threads()};
  request.on_loss = [this](const DataLoss& loss) { opened_.losses().Add(loss); };
  if (CountsAll()) request.check = AccountCheck(opened_.source().Unit());
  return request;
}

Result<CoverageCounts> CountedInput::Count() {
  const uint64_t bytes = opened_.SelectedBytes();
  opened_.losses().AddStreamBytes(bytes);
  std::unique_ptr<WorkProgress> progress;
  if (tells_progress_) progress.reset(new WorkProgress(opened_.ShowProgress("coverage", bytes)));
  return CountCoverage(Request());
}

Result<std::vector<CoverageCounts>> CountedInput::CountThreads() {
  const uint64_t bytes = opened_.SelectedBytes();
  opened_.losses().AddStreamBytes(bytes);
  const WorkProgress progress = opened_.ShowProgress("coverage", bytes);
  return CountCoverageByOwner(Request());
}

int CountedInput::Finish() {
  const auto warn = [this] {
    if (!CountsAll() && !found_in_span_)
      WarnOfEmptySpan(opened_.recording(), opened_.clock(), span_, opened_.options(), false);
  };
  return opened_.End({}, {.warn_of_result = warn});
}

}  // namespace flowback::cli
