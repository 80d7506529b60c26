// SPDX-License-Identifier: MIT
#include "cli/reading/opened_recording.h"

#include <utility>

#include "cli/reading/cut_files.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"

namespace flowback::cli {

uint64_t OpenedRecording::trace_bytes() const {
  uint64_t bytes = 0;
  for (const Stream& stream : recording_.streams) bytes += stream.bytes.size();
  return bytes;
}

Status OpenedRecording::OpenSource() {
  Result<std::shared_ptr<const TraceSource>> source = flowback::OpenSource(recording_);
  if (!source) return Fail(source.error());
  source_ = *std::move(source);
  return {};
}

Status OpenedRecording::OpenTrace() {
  if (Status status = CheckHasTrace(recording_); !status) return status;
  return OpenSource();
}

Status OpenedRecording::LoadCode() {
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.search);
  if (!code) return Fail(code.error());
  code_.emplace(std::move(*code));
  return {};
}

Status OpenedRecording::OpenCode() {
  if (const auto decoder = NewDecoder(); !decoder) return Fail(decoder.error());
  return LoadCode();
}

void OpenedRecording::PrepareStreams(bool times) {
  inputs_.emplace(recording_, *code_, options_.resync, source_);
  inputs_->set_threads(options_.threads, options_.in_flight);
  inputs_->set_progress(bytes_done_);
  inputs_->set_times(times);
}

Status OpenedRecording::ChooseThreads() {
  threads_.GroupByThread(recording_, *inputs_);
  return Select(options_, threads_);
}

bool OpenedRecording::HasChosenThreads() {
  threads_.GroupByThread(recording_, *inputs_);
  return threads_.Select(options_.selection);
}

uint64_t OpenedRecording::TraceBytes() const {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  return bytes;
}

void OpenedRecording::AddRecordedLosses() {
  if (!recorded_losses_known_) losses_.AddRecording(recording_);
  recorded_losses_known_ = true;
}

void OpenedRecording::AddKnownLosses() {
  AddRecordedLosses();
  losses_.AddNobodys(threads_);
  losses_.AddStreamBytes(TraceBytes());
}

Result<Output> OpenedRecording::OpenOutput(const std::string& path) const {
  ReaderOptions options = options_;
  if (!path.empty()) options.output = path;
  Result<Output> output = cli::OpenOutput(options, recording_, code_or_null());
  if (output) output->CheckWith([this] { return CheckInputs(); });
  return output;
}

Status OpenedRecording::CheckInputs() const { return CheckUncut(recording_, code_or_null()); }

// Where there is no stream, no image was of use to any.
void OpenedRecording::TellMissing() const {
  losses_.Warn(InputName());
  if (!code_) return;
  if (!recording_.streams.empty()) losses_.images().Warn(*code_, options_);
  WarnOfModes(*code_, InputName());
}

void OpenedRecording::Keep(const std::function<void()>& keep_more) const {
  if (!code_) return;
  if (CheckWhole(code_->files())) {
    code_->KeepBlocks();
    if (keep_more) keep_more();
  }
  WarnOfCache(*code_);
}

}  // namespace flowback::cli
