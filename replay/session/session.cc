// SPDX-License-Identifier: MIT
#include "flowback/session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "replay/session/has_trace.h"
#include "replay/session/session_impl.h"
#include "replay/session/use_bundle.h"

namespace flowback {

std::string SessionOptions::InputName() const {
  if (!open.bundle.empty()) return open.bundle;
  if (!open.input.empty()) return open.input;
  return open.raw_pt.empty() ? std::string() : open.raw_pt.front();
}

unsigned SessionOptions::ThreadCount() const {
  return threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

StreamInputs Session::Impl::NewInputs(bool times) const {
  StreamInputs made(recording, *code, options.resync, source);
  made.set_threads(options.threads, options.in_flight);
  made.set_times(times);
  return made;
}

Symbolizer& Session::Impl::Symbols() {
  if (!symbols) symbols.emplace(options.search, &recording);
  return *symbols;
}

SymbolFunctions& Session::Impl::Functions() {
  if (!functions) functions.emplace(Symbols());
  return *functions;
}

const std::vector<ThreadFlow>& Session::Impl::Flows() {
  if (!flows) flows = ThreadFlows(recording, *inputs);
  return *flows;
}

Session::Session(const SessionOptions& options, Recording recording)
    : impl_(std::make_unique<Impl>(options, std::move(recording))) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::Open(const SessionOptions& given) {
  SessionOptions options = given;
  if (Status status = UseBundle(options); !status) return Fail(status.error());
  Result<Recording> recording = OpenRecording(options.open);
  if (!recording) return Fail(recording.error());
  Session session(options, *std::move(recording));
  if (Status status = session.OpenTrace(); !status) return Fail(status.error());
  session.KeepIndexes();  // spans and sums ask for them again
  if (Status status = session.OpenCode(); !status) return Fail(status.error());
  session.PrepareStreams(true);
  if (session.SelectThreads()) return session;
  return Fail(Error(ErrorCode::kUsage, "the selection leaves no thread of the recording"));
}

Result<Session> Session::Open(const std::string& path) {
  SessionOptions options;
  options.open.input = path;
  return Open(options);
}

Status Session::OpenSource() {
  Result<std::shared_ptr<const TraceSource>> source = flowback::OpenSource(impl_->recording);
  if (!source) return Fail(source.error());
  impl_->source = *std::move(source);
  return {};
}

Status Session::OpenTrace() {
  if (Status status = CheckHasTrace(impl_->recording); !status) return status;
  return OpenSource();
}

void Session::KeepIndexes() { impl_->source = flowback::KeepIndexes(std::move(impl_->source)); }

Status Session::LoadCode() {
  Result<RecordingCode> code = RecordingCode::Load(impl_->recording, impl_->options.search);
  if (!code) return Fail(code.error());
  impl_->code.emplace(*std::move(code));
  return {};
}

Status Session::OpenCode() {
  if (const auto decoder = NewDecoder(); !decoder) return Fail(decoder.error());
  return LoadCode();
}

void Session::PrepareStreams(bool times) {
  impl_->inputs.emplace(impl_->NewInputs(times));
  impl_->inputs->set_progress(impl_->bytes_done);
}

bool Session::SelectThreads() {
  impl_->threads.GroupByThread(impl_->recording, *impl_->inputs);
  return impl_->threads.Select(impl_->options.selection);
}

const SessionOptions& Session::options() const { return impl_->options; }
const Recording& Session::recording() const { return impl_->recording; }
bool Session::has_code() const { return impl_->code.has_value(); }
const RecordingCode& Session::code() const { return *impl_->code; }
const TraceSource* Session::source_or_null() const { return impl_->source.get(); }
const TraceSource& Session::source() const { return *impl_->source; }
bool Session::has_inputs() const { return impl_->inputs.has_value(); }
StreamInputs& Session::inputs() { return *impl_->inputs; }
const StreamInputs& Session::inputs() const { return *impl_->inputs; }
RecordingClock& Session::clock() { return impl_->clock; }
const RecordingClock& Session::clock() const { return impl_->clock; }
Threads& Session::threads() { return impl_->threads; }
const Threads& Session::threads() const { return impl_->threads; }
const std::vector<ThreadFlow>& Session::flows() const { return impl_->Flows(); }
std::atomic<uint64_t>& Session::bytes_done() { return impl_->bytes_done; }

std::string_view Session::RecordedPath(const std::string& file) const {
  return impl_->code->RecordedPath(file);
}

uint64_t Session::trace_bytes() const {
  uint64_t bytes = 0;
  for (const Stream& stream : impl_->recording.streams) bytes += stream.bytes.size();
  return bytes;
}

uint64_t Session::SelectedBytes() const {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : impl_->threads.owners())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  return bytes;
}

std::optional<TimeSpan> Session::Span() const {
  return SpanWithSamples(impl_->recording, impl_->clock);
}

Symbolizer& Session::symbols() { return impl_->Symbols(); }
SymbolFunctions& Session::functions() { return impl_->Functions(); }

SourceLines& Session::lines() {
  if (!impl_->lines) impl_->lines.emplace(impl_->options.search, &impl_->recording);
  return *impl_->lines;
}

Result<std::unique_ptr<Decoder>> Session::NewDecoder() const { return impl_->NewDecoder(); }

}  // namespace flowback
