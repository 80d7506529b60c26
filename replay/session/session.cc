// SPDX-License-Identifier: MIT
#include "flowback/session.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "flowback/replay/exec_times.h"
#include "flowback/replay/span_decoder.h"
#include "replay/session/has_trace.h"

namespace flowback {
// Its members refer to those before them and stay where they are.
class Session::Impl {
 public:
  class SpanPlay;

  Impl(const SessionOptions& options, Recording recording);
  ~Impl();

  Status Prepare();

  StreamInputs NewInputs() const;
  Player NewPlayer(PlayOptions options = {});
  Status Play(const std::vector<const ThreadFlow*>& flows, PlayConsumer& consumer);
  Status Play(TimeSpan span, PlayConsumer& consumer);
  Result<std::vector<ThreadTotals>> Sum();
  Result<FlowIndex*> Index();
  Result<ThreadStack> StackAt(const StreamOwner& thread, const StackPlace& place);
  Result<Timeline> MakeTimeline(TimelineOptions options);

  Result<std::unique_ptr<Decoder>> NewDecoder() const {
    return source_->MakeDecoder(options_.engine);
  }
  Symbolizer& symbols();
  SymbolFunctions& functions();
  SourceLines& lines();
  unsigned thread_count() const {
    return options_.threads != 0 ? options_.threads
                                 : std::max(1U, std::thread::hardware_concurrency());
  }

  const SessionOptions options_;
  Recording recording_;
  RecordingClock clock_;
  Threads threads_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  std::vector<ThreadFlow> flows_;  // of all threads, selected or not

  std::optional<Symbolizer> symbols_;
  std::optional<SymbolFunctions> functions_;
  std::optional<SourceLines> lines_;
  std::unique_ptr<Decoder> index_decoder_;
  std::optional<FlowIndex> index_;
  std::optional<Player> player_;
  std::unique_ptr<SpanPlay> span_play_;
};

// Plays one span of time. It has inputs of its own, which begin where the span can begin.
class Session::Impl::SpanPlay {
 public:
  SpanPlay(const Impl& session, TimeSpan span)
      : session_(session),
        needs_{.span = span},
        inputs_(session.NewInputs()),
        ranges_(inputs_, session.recording_, needs_, session.clock_),
        player(inputs_, [this] { return NewDecoder(); },
               {.threads = session.thread_count(),
                .in_flight = session.options_.in_flight,
                .clock = &session.clock_,
                .reaches = [this](const FlowPiece& stay) { return ranges_.Reaches(stay); }}) {}

 private:
  Result<std::unique_ptr<Decoder>> NewDecoder() {
    Result<std::unique_ptr<Decoder>> decoder = session_.NewDecoder();
    if (!decoder) return decoder;
    return MakeSpanDecoder(*std::move(decoder), needs_, session_.clock_, found_);
  }

  const Impl& session_;
  const SpanNeeds needs_;
  StreamInputs inputs_;
  SpanRanges ranges_;
  std::atomic<bool> found_ = false;

 public:
  Player player;
};

Session::Impl::Impl(const SessionOptions& options, Recording recording)
    : options_(options),
      recording_(std::move(recording)),
      clock_(recording_),
      threads_(recording_) {}

Session::Impl::~Impl() = default;

Status Session::Impl::Prepare() {
  if (Status status = CheckHasTrace(recording_); !status) return status;
  Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording_);
  if (!source) return Fail(source.error());
  // Spans and sums ask for the packets' index again.
  source_ = KeepIndexes(*std::move(source));
  if (const auto decoder = NewDecoder(); !decoder) return Fail(decoder.error());
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.search);
  if (!code) return Fail(code.error());
  code_.emplace(*std::move(code));
  inputs_.emplace(NewInputs());
  flows_ = ThreadFlows(recording_, *inputs_);
  threads_.GroupByThread(recording_, *inputs_);
  if (threads_.Select(options_.selection)) return {};
  return Fail(Error(ErrorCode::kUsage, "the selection leaves no thread of the recording"));
}

StreamInputs Session::Impl::NewInputs() const {
  StreamInputs inputs(recording_, *code_, options_.resync, source_);
  inputs.set_threads(options_.threads, options_.in_flight);
  inputs.set_times(true);
  return inputs;
}

Player Session::Impl::NewPlayer(PlayOptions options) {
  options.threads = thread_count();
  options.in_flight = options_.in_flight;
  return Player(*inputs_, [this] { return NewDecoder(); }, std::move(options));
}

Status Session::Impl::Play(const std::vector<const ThreadFlow*>& flows, PlayConsumer& consumer) {
  if (!player_) player_.emplace(NewPlayer({.clock = &clock_}));
  return player_->Play(flows, consumer);
}

Status Session::Impl::Play(TimeSpan span, PlayConsumer& consumer) {
  span_play_ = std::make_unique<SpanPlay>(*this, span);
  return span_play_->player.Play(FlowsOf(threads_.owners()), consumer);
}

// A stream may have parts of several threads, and a thread parts in several streams.
Result<std::vector<ThreadTotals>> Session::Impl::Sum() {
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  std::map<std::pair<const Stream*, const ThreadStay*>, FlowTotals> parts;
  for (const Stream& stream : recording_.streams) {
    Result<FlowSummary> summary = (*decoder)->Summarize(inputs_->For(stream));
    if (!summary) return Fail(summary.error());
    for (FlowPart& part : summary->parts) parts[{&stream, part.stay}].Append(part.totals);
  }
  std::vector<ThreadTotals> sums;
  for (const StreamOwner& owner : threads_.owners()) {
    ThreadTotals& sum = sums.emplace_back(&owner);
    for (const FlowPiece& piece : owner.pieces)
      sum.totals.Append(parts[{piece.stream, piece.stay}]);
  }
  return sums;
}

Result<FlowIndex*> Session::Impl::Index() {
  if (index_) return &*index_;
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  index_decoder_ = *std::move(decoder);
  const IndexCache cache{.folder = options_.engine == "native" ? options_.search.cache : "",
                         .most_bytes = options_.search.cache_bytes};
  Result<FlowIndex> index =
      FlowIndex::Open(recording_, *code_, *inputs_, *index_decoder_, {}, cache);
  if (!index) return Fail(index.error());
  index_.emplace(*std::move(index));
  return &*index_;
}

Result<ThreadStack> Session::Impl::StackAt(const StreamOwner& thread, const StackPlace& place) {
  const ExecTimes execs(recording_, clock_, thread.pid);
  const auto exec_between = [&execs](uint64_t begin, uint64_t end) {
    return execs.Between(begin, end);
  };
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : flows_) all.push_back(&flow);
  Player player = NewPlayer();
  Result<ThreadOrigin> origin = OriginOf(thread, all, recording_, functions(), player);
  if (!origin) return Fail(origin.error());
  StackTaker taker(functions(), {place}, *std::move(origin),
                   {.exec_between = exec_between, .machine = &recording_.machine});
  if (Status played = player.Play({&thread}, taker); !played) return Fail(played.error());
  return std::move(taker.Take().front());
}

Result<Timeline> Session::Impl::MakeTimeline(TimelineOptions options) {
  if (options.threads == 0) options.threads = thread_count();
  const TimelineSources sources{
      .recording = recording_,
      .inputs = *inputs_,
      .symbolizer = symbols(),
      .functions = functions(),
      .make_decoder = [this] { return NewDecoder(); },
      .recorded_path =
          [this](const std::string& file) { return std::string(code_->RecordedPath(file)); }};
  return flowback::MakeTimeline(sources, FlowsOf(threads_.owners()), options);
}

Symbolizer& Session::Impl::symbols() {
  if (!symbols_) symbols_.emplace(options_.search, &recording_);
  return *symbols_;
}

SymbolFunctions& Session::Impl::functions() {
  if (!functions_) functions_.emplace(symbols());
  return *functions_;
}

SourceLines& Session::Impl::lines() {
  if (!lines_) lines_.emplace(options_.search, &recording_);
  return *lines_;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::Open(const SessionOptions& options) {
  Result<Recording> recording = OpenRecording(options.open);
  if (!recording) return Fail(recording.error());
  auto impl = std::make_unique<Impl>(options, *std::move(recording));
  if (Status status = impl->Prepare(); !status) return Fail(status.error());
  return Session(std::move(impl));
}

Result<Session> Session::Open(const std::string& path) {
  SessionOptions options;
  options.open.input = path;
  return Open(options);
}

const SessionOptions& Session::options() const { return impl_->options_; }
const Recording& Session::recording() const { return impl_->recording_; }
const RecordingCode& Session::code() const { return *impl_->code_; }
const TraceSource& Session::source() const { return *impl_->source_; }
const StreamInputs& Session::inputs() const { return *impl_->inputs_; }
const RecordingClock& Session::clock() const { return impl_->clock_; }
const Threads& Session::threads() const { return impl_->threads_; }
Symbolizer& Session::symbols() { return impl_->symbols(); }
SymbolFunctions& Session::functions() { return impl_->functions(); }
SourceLines& Session::lines() { return impl_->lines(); }

Result<std::unique_ptr<Decoder>> Session::NewDecoder() const { return impl_->NewDecoder(); }

Status Session::Play(PlayConsumer& consumer) {
  return impl_->Play(FlowsOf(threads().owners()), consumer);
}

Status Session::Play(const ThreadFlow& thread, PlayConsumer& consumer) {
  return impl_->Play({&thread}, consumer);
}

Status Session::Play(TimeSpan span, PlayConsumer& consumer) { return impl_->Play(span, consumer); }

Result<std::vector<ThreadTotals>> Session::Sum() { return impl_->Sum(); }
Result<FlowIndex*> Session::Index() { return impl_->Index(); }

Result<ThreadStack> Session::StackAt(const StreamOwner& thread, const StackPlace& place) {
  return impl_->StackAt(thread, place);
}

Result<Timeline> Session::MakeTimeline(TimelineOptions options) {
  return impl_->MakeTimeline(std::move(options));
}

}  // namespace flowback
