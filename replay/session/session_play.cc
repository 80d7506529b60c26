// SPDX-License-Identifier: MIT
// What a session makes of the flow: it plays it, sums it up, indexes it.
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "replay/account/laws.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/shadow_stack/stack_judge.h"
#include "replay/calls/stack_snapshots.h"
#include "replay/flow/flow_in_span.h"
#include "replay/session/session_impl.h"

namespace flowback {

// Plays one span of time. It has inputs of its own, which begin where the span can begin.
class Session::Impl::SpanPlay {
 public:
  SpanPlay(const Impl& session, TimeSpan span)
      : inputs_(session.NewInputs(true)),
        flow_({.inputs = inputs_, .make_decoder = [&session] { return session.NewDecoder(); }},
              {.span = span}, session.clock) {
    flow_.SkipRest(inputs_, session.recording);
    player.emplace(session.NewPlayer(flow_.Source(), {.clock = &session.clock}));
  }

 private:
  StreamInputs inputs_;
  FlowInSpan flow_;

 public:
  std::optional<Player> player;
};

namespace {

// Adds the losses of a flow to a tally, and passes everything on.
class LossCounter final : public PlayConsumer {
 public:
  LossCounter(PlayConsumer& next, LossTally& losses) : next_(next), losses_(losses) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override {
    next_.OnThreadBegin(thread, number);
  }
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override {
    next_.OnThreadEnd(thread, number);
  }
  void OnStayBegin(const FlowPiece& stay) override { next_.OnStayBegin(stay); }
  void OnStayEnd(const FlowPiece& stay) override { next_.OnStayEnd(stay); }
  void OnAbsence(const Absence& absence) override { next_.OnAbsence(absence); }
  void OnBlock(const BlockRun& run) override { next_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { next_.OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override { next_.OnEvent(event); }
  void OnUnknown(const UnknownFlow& unknown) override { next_.OnUnknown(unknown); }
  void OnLoss(const DataLoss& loss) override {
    losses_.Add(loss);
    next_.OnLoss(loss);
  }
  RangeConsumer* ranges() override { return next_.ranges(); }
  bool Done() const override { return next_.Done(); }

 private:
  PlayConsumer& next_;
  LossTally& losses_;
};

}  // namespace

Session::Impl::Impl(const SessionOptions& session_options, Recording opened)
    : options(session_options),
      recording(std::move(opened)),
      clock(recording),
      threads(recording) {}

Session::Impl::~Impl() = default;

Player Session::Impl::NewPlayer(const FlowSource& flow, PlayOptions play) const {
  play.threads = options.ThreadCount();
  play.in_flight = options.in_flight;
  return Player(flow, std::move(play));
}

Player& Session::Impl::SharedPlayer() {
  if (!player) player.emplace(NewPlayer(Flow(), {.clock = &clock}));
  return *player;
}

Status Session::Play(PlayConsumer& consumer) {
  return impl_->SharedPlayer().Play(FlowsOf(threads().owners()), consumer);
}

Status Session::Play(const ThreadFlow& thread, PlayConsumer& consumer) {
  return impl_->SharedPlayer().Play({&thread}, consumer);
}

Status Session::Play(TimeSpan span, PlayConsumer& consumer) {
  impl_->span_play = std::make_unique<Impl::SpanPlay>(*impl_, span);
  return impl_->span_play->player->Play(FlowsOf(threads().owners()), consumer);
}

Status Session::PlayAccounted(PlayConsumer& consumer) {
  AddKnownLosses();
  LossCounter counter(consumer, losses());
  Player player =
      impl_->NewPlayer(Flow(), {.clock = &clock(), .check = AccountCheck(source().Unit())});
  return player.Play(FlowsOf(threads().owners()), counter);
}

// A stream may have parts of several threads, and a thread parts in several streams.
Result<std::vector<ThreadTotals>> Session::Sum() {
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  std::map<std::pair<const Stream*, const ThreadStay*>, FlowTotals> parts;
  for (const Stream& stream : recording().streams) {
    Result<FlowSummary> summary = (*decoder)->Summarize(inputs().For(stream));
    if (!summary) return Fail(summary.error());
    for (FlowPart& part : summary->parts) parts[{&stream, part.stay}].Append(part.totals);
  }
  std::vector<ThreadTotals> sums;
  for (const StreamOwner& owner : threads().owners()) {
    ThreadTotals& sum = sums.emplace_back(&owner);
    for (const FlowPiece& piece : owner.pieces)
      sum.totals.Append(parts[{piece.stream, piece.stay}]);
  }
  return sums;
}

Result<FlowIndex*> Session::Index() {
  if (impl_->index) return &*impl_->index;
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  impl_->index_decoder = *std::move(decoder);
  StackJudge judge(functions());
  Result<FlowIndex> index = FlowIndex::Open(recording(), code(), inputs(), *impl_->index_decoder,
                                            {.calls = &judge}, CacheFor(CachedResult::kIndex));
  if (!index) return Fail(index.error());
  impl_->index.emplace(*std::move(index));
  return &*impl_->index;
}

Result<FlowIndex> Session::IndexAnew() {
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  impl_->decoders_of_others.push_back(*std::move(decoder));
  StackJudge judge(functions());
  return FlowIndex::Build(recording(), inputs(), *impl_->decoders_of_others.back(),
                          {.calls = &judge});
}

Result<ThreadStack> Session::StackAt(const StreamOwner& thread, const StackPlace& place) {
  const ExecTimes execs(recording(), clock(), thread.pid);
  const auto exec_between = [&execs](uint64_t begin, uint64_t end) {
    return execs.Between(begin, end);
  };
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : flows()) all.push_back(&flow);
  Player player = impl_->NewPlayer(Flow());
  Result<ThreadOrigin> origin = OriginOf(thread, all, recording(), functions(), player);
  if (!origin) return Fail(origin.error());
  StackSnapshots taker(functions(), {place}, *std::move(origin),
                       {.exec_between = exec_between, .machine = &recording().machine});
  if (Status played = player.Play({&thread}, taker); !played) return Fail(played.error());
  return std::move(taker.Take().front());
}

FlowSource Session::Flow() const { return impl_->Flow(); }

CoverageRequest Session::CoverageInput() const {
  return {.recording = recording(),
          .code = code(),
          .flow = Flow(),
          .owners = threads().owners(),
          .check = AccountCheck(source().Unit())};
}

TimelineSources Session::TimelineInput() {
  return {.recording = recording(),
          .flow = Flow(),
          .symbolizer = symbols(),
          .functions = functions(),
          .recorded_path = [impl = impl_.get()](const std::string& file) {
            return std::string(impl->code->RecordedPath(file));
          }};
}

Result<Timeline> Session::MakeTimeline(TimelineOptions options) {
  if (options.threads == 0) options.threads = impl_->options.ThreadCount();
  return flowback::MakeTimeline(TimelineInput(), FlowsOf(threads().owners()), options);
}

}  // namespace flowback
