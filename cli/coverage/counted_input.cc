// SPDX-License-Identifier: MIT
#include "cli/coverage/counted_input.h"

#include <fmt/format.h>

#include "cli/reading/cut_files.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/printable.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/span_decoder.h"

namespace flowback::cli {

Status CountedInput::Prepare() {
  if (Status status = CheckHasTrace(recording_); !status) return status;
  Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording_);
  if (!source) return Fail(source.error());
  source_ = *std::move(source);
  Result<TimeSpan> span = ParseTimeSpan(options_.time, recording_, clock_);
  if (!span) return Fail(span.error());
  span_ = *span;
  if (const auto decoder = NewDecoder(); !decoder) return Fail(decoder.error());
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.search);
  if (!code) return Fail(code.error());
  code_.emplace(std::move(*code));
  inputs_.emplace(recording_, *code_, options_.resync, source_);
  inputs_->set_threads(options_.threads, options_.in_flight);
  inputs_->set_progress(bytes_done_);
  inputs_->set_times(!options_.time.empty());
  threads_.GroupByThread(recording_, *inputs_);
  losses_.AddRecording(recording_);
  return {};
}

Result<std::unique_ptr<Decoder>> CountedInput::NewDecoder() {
  Result<std::unique_ptr<Decoder>> decoder = source_->MakeDecoder(options_.engine);
  if (!decoder || options_.time.empty()) return decoder;
  return MakeSpanDecoder(std::move(*decoder), {span_, false}, clock_, found_in_span_);
}

std::string CountedInput::NameOf(const StreamOwner& thread) const {
  if (thread.tid < 0) return thread.label;
  const std::string_view comm = threads_.CommAt(thread.tid, 0).comm;
  return comm.empty() ? thread.label : fmt::format("{} {}", thread.label, Printable(comm));
}

uint64_t CountedInput::CountBytes() const {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : threads())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  return bytes;
}

CoverageRequest CountedInput::Request() {
  CoverageRequest request{.recording = recording_,
                          .code = *code_,
                          .inputs = *inputs_,
                          .owners = threads(),
                          .make_decoder = [this] { return NewDecoder(); }};
  request.on_loss = [this](const DataLoss& loss) { losses_.Add(loss); };
  if (options_.time.empty())
    request.check = [unit = source_->Unit()](const ByteAccount& account, const Stream& stream) {
      return CheckAccount(account, stream, unit);
    };
  return request;
}

Result<CoverageCounts> CountedInput::Count() {
  losses_.AddStreamBytes(CountBytes());
  std::optional<WorkProgress> progress;
  if (tells_progress_) progress.emplace("coverage", CountBytes(), bytes_done_);
  return CountCoverage(Request());
}

Result<std::vector<CoverageCounts>> CountedInput::CountThreads() {
  losses_.AddStreamBytes(CountBytes());
  const WorkProgress progress("coverage", CountBytes(), bytes_done_);
  return CountCoverageByOwner(Request());
}

Status CountedInput::CheckInputs() const { return CheckUncut(recording_, &*code_); }

void CountedInput::KeepBlocks() {
  if (CheckWhole(code_->files())) code_->KeepBlocks();
}

int CountedInput::Finish() {
  const std::string input = options_.InputName();
  losses_.Warn(input);
  losses_.images().Warn(*code_, options_);
  WarnOfModes(*code_, input);
  KeepBlocks();
  WarnOfCache(*code_);
  if (recording_.refusal) return Report(*recording_.refusal);
  if (!options_.time.empty() && !found_in_span_)
    WarnOfEmptySpan(recording_, clock_, span_, options_, false);
  return losses_.Status(options_.strict);
}

}  // namespace flowback::cli
