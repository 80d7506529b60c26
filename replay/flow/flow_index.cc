// SPDX-License-Identifier: MIT
#include "flowback/replay/flow_index.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "replay/flow/index_builder.h"
#include "replay/flow/index_content.h"
#include "replay/flow/index_disk.h"
#include "replay/flow/index_key.h"
#include "replay/flow/index_spaces.h"
#include "replay/flow/segment_steps.h"
#include "replay/flow/share_calls.h"

namespace flowback {
namespace {

// Hands one stay's flow on.
class StayFilter final : public ExecutionConsumer {
 public:
  StayFilter(const ThreadStay* stay, ExecutionConsumer& consumer)
      : stay_(stay), consumer_(consumer) {}

  void OnBlock(const BlockRun& run) override {
    if (run.stay == stay_) Told().OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (batch.stay == stay_) Told().OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.stay == stay_) Told().OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.stay == stay_) Told().OnLoss(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    if (unknown.stay == stay_) Told().OnUnknown(unknown);
  }
  bool Done() const override { return consumer_.Done(); }
  bool any() const { return any_; }

 private:
  ExecutionConsumer& Told() {
    any_ = true;
    return consumer_;
  }

  const ThreadStay* stay_;
  ExecutionConsumer& consumer_;
  bool any_ = false;
};

class PassOver final : public ExecutionConsumer {
  void OnBlock(const BlockRun&) override {}
  void OnBlocks(const BlockBatch&) override {}
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
};

// A stream's bytes for each segment. Flow that is played by its steps is played in small parts.
uint64_t SegmentSize(const std::vector<IndexedStream>& streams, const FlowIndex::Options& options) {
  uint64_t bytes = 0;
  for (const IndexedStream& source : streams) bytes += source.input->bytes.size();
  const uint64_t most = options.steps ? 4 * FlowIndex::kMostSegments : FlowIndex::kMostSegments;
  return std::max(options.segment_bytes, bytes / most);
}

std::vector<IndexedStream> StreamsOf(const Recording& recording, const StreamInputs& inputs) {
  std::vector<IndexedStream> streams;
  for (const Stream& stream : recording.streams) streams.push_back({&stream, &inputs.For(stream)});
  return streams;
}

}  // namespace

class FlowIndex::Impl {
 public:
  // Makes a reader for each stream.
  Status Begin(const std::vector<IndexedStream>& streams, Decoder& decoder, bool times) {
    for (const IndexedStream& source : streams) {
      PerStream& stream = streams_[source.stream];
      stream.number = streams_.size() - 1;
      stream.input = *source.input;
      stream.input.times = times;
      auto reader = decoder.Read(stream.input);
      if (!reader) return Fail(reader.error());
      stream.reader = std::move(*reader);
      stream.begin = stream.reader->Save();
      spaces_.Add(stream.input);
    }
    return {};
  }

  // The first pass.
  void Build(const std::vector<IndexedStream>& streams, uint64_t segment_bytes,
             const Options& options, IndexListener* listener) {
    IndexBuilder builder(segment_bytes, true, std::max(options.sample, 1U));
    if (options.calls != nullptr) builder.FollowCalls(*options.calls);
    if (options.steps) builder.NoteSteps();
    for (const IndexedStream& source : streams) {
      PerStream& stream = streams_.at(source.stream);
      ExecutionConsumer* const events =
          listener == nullptr ? nullptr : listener->OnStreamBegin(*source.stream);
      stream.untold = builder.Add(stream.input, *stream.reader, events);
      if (listener != nullptr) listener->OnStreamEnd(*source.stream);
    }
    content_ = builder.Take(spaces_);
    stream_calls_ = builder.TakeCalls();
    steps_ = builder.TakeSteps();
    runs_ = builder.TakeRuns();
    gone_over_ = builder.gone_over();
    FillProfile();
  }

  // False: that is no index of these streams.
  bool Take(Bytes bytes) {
    std::optional<IndexContent> content = IndexFromBytes(bytes);
    if (!content || content->streams.size() != streams_.size()) return false;
    for (const auto& [stream, of] : streams_)
      if (content->streams[of.number].bytes != of.input.bytes.size()) return false;
    content_ = std::move(*content);
    from_cache_ = FillProfile();
    return from_cache_;
  }

  void AddThreads(const std::vector<ThreadFlow>& flows) {
    std::map<std::pair<const Stream*, uint32_t>, std::vector<FlowShare>> shares;
    std::map<std::pair<const Stream*, uint32_t>, std::vector<ShareCalls>> calls;
    for (const auto& [stream, of] : streams_) {
      const std::vector<IndexContent::Share>& all = content_.streams[of.number].shares;
      for (size_t i = 0; i < all.size(); ++i) {
        const IndexContent::Share& share = all[i];
        shares[{stream, share.stay}].push_back({.stream = stream,
                                                .segment = share.segment,
                                                .instructions = share.instructions,
                                                .events = share.events,
                                                .losses = share.losses,
                                                .first_tsc = share.first_tsc,
                                                .last_tsc = share.last_tsc});
        if (!stream_calls_.empty())
          calls[{stream, share.stay}].push_back(std::move(stream_calls_[of.number][i]));
      }
    }
    std::map<const Stream*, StayNames> names;
    for (const auto& [stream, of] : streams_) names[stream] = NamesOfStays(of.input);
    for (const ThreadFlow& flow : flows) {
      IndexedThread& thread = threads_.emplace_back();
      thread.pid = flow.pid;
      thread.tid = flow.tid;
      thread_calls_.emplace_back();
      for (const FlowPiece& piece : flow.pieces) {
        const StayNames& of_stream = names[piece.stream];
        const auto name = of_stream.find(piece.stay);
        if (name == of_stream.end()) continue;
        for (FlowShare& share : shares[{piece.stream, name->second}]) {
          share.stay = piece.stay;
          share.first = thread.instructions;
          thread.instructions += share.instructions;
          thread.shares.push_back(share);
        }
        for (ShareCalls& each : calls[{piece.stream, name->second}])
          thread_calls_.back().push_back(std::move(each));
      }
    }
  }

  void Load(const FlowShare& share, FlowSegment& segment) {
    PerStream& stream = streams_.at(share.stream);
    segment.Clear();
    SegmentRecorder recorder(segment);
    StayFilter filter(share.stay, recorder);
    Enter(stream, share.segment);
    ReadSegment(*stream.reader, Content(stream).segments[share.segment], filter);
    if (segment.empty()) recorder.OnLoss(NothingThere(stream, share));
  }

  void Play(const FlowShare& share, ExecutionConsumer& consumer) {
    PerStream& stream = streams_.at(share.stream);
    StayFilter filter(share.stay, consumer);
    Enter(stream, share.segment);
    ReadSegment(*stream.reader, Content(stream).segments[share.segment], filter);
    if (!filter.any()) consumer.OnLoss(NothingThere(stream, share));
  }

  bool MayExecute(const FlowShare& share, uint64_t address) const {
    const IndexContent::Stream& stream = Content(streams_.at(share.stream));
    const uint32_t stretch = stream.segments[share.segment].stretch;
    return LineFilter::MayHave(stream.Filter(stretch), LineOf(address));
  }

  uint32_t StretchOf(const FlowShare& share) const {
    return Content(streams_.at(share.stream)).segments[share.segment].stretch;
  }

  std::vector<HotBlock> ProfileOf(const FlowShare& share) const {
    const IndexContent::Stream& stream = Content(streams_.at(share.stream));
    std::vector<HotBlock> hot;
    for (const auto& entry : stream.HotOf(StretchOf(share))) {
      hot.push_back(profile_[entry.block]);
      hot.back().instructions = entry.instructions;
    }
    return hot;
  }

  const std::vector<IndexedThread>& threads() const { return threads_; }
  const std::vector<HotBlock>& profile() const { return profile_; }
  const SpaceNames& spaces() const { return spaces_; }
  const std::vector<ShareCalls>* CallsOf(size_t thread) const {
    const std::vector<ShareCalls>& calls = thread_calls_[thread];
    return calls.size() == threads_[thread].shares.size() ? &calls : nullptr;
  }
  const SegmentSteps& StepsOf(const FlowShare& share) const {
    static const SegmentSteps unknown;
    if (steps_.empty()) return unknown;
    return steps_[streams_.at(share.stream).number][share.segment];
  }
  const ToldRuns& runs() const { return runs_; }
  size_t gone_over() const { return gone_over_; }
  bool from_cache() const { return from_cache_; }
  size_t segments() const {
    size_t count = 0;
    for (const IndexContent::Stream& stream : content_.streams) count += stream.segments.size();
    return count;
  }
  // Empty if some state does not support bytes.
  std::vector<uint8_t> ToBytes() const {
    for (const auto& [stream, of] : streams_)
      if (!of.untold.empty()) return {};
    return flowback::ToBytes(content_);
  }

 private:
  struct PerStream;
  static DataLoss NothingThere(const PerStream& stream, const FlowShare& share) {
    return {.cause = LossCause::kFlowMismatch,
            .begin = stream.reader->offset(),
            .end = stream.reader->offset(),
            .detail = "the code has changed since it was indexed",
            .stay = share.stay};
  }

  struct PerStream {
    size_t number = 0;  // in content_
    DecodeInput input;
    std::unique_ptr<FlowReader> reader;
    std::shared_ptr<const FlowReader::State> begin;
    IndexBuilder::Untold untold;
    IndexBuilder::Untold found;  // by going there from the segment before
  };

  const IndexContent::Stream& Content(const PerStream& stream) const {
    return content_.streams[stream.number];
  }

  std::shared_ptr<const FlowReader::State> StateAt(const PerStream& stream, size_t segment) const {
    for (const auto* kept : {&stream.untold, &stream.found})
      if (const auto state = kept->find(segment); state != kept->end()) return state->second;
    return stream.reader->FromBytes(Content(stream).State(segment));
  }

  // To the begin of a segment. Where its state makes no sense, as the code is not what it was, the
  // segments before it lead there.
  void Enter(PerStream& stream, size_t segment) {
    size_t from = segment;
    auto state = StateAt(stream, from);
    while (state == nullptr && from != 0) state = StateAt(stream, --from);
    stream.reader->Return(state == nullptr ? *stream.begin : *state);
    if (from == segment) return;
    PassOver nobody;
    for (; from != segment; ++from)
      ReadSegment(*stream.reader, Content(stream).segments[from], nobody);
    stream.found[segment] = stream.reader->Save();
  }

  // False: a block's space is not there.
  bool FillProfile() {
    profile_.clear();
    for (const IndexContent::Block& block : content_.profile) {
      profile_.push_back({spaces_.Find(block.space), block.address, block.instructions});
      if (profile_.back().space == nullptr) return false;
    }
    return true;
  }

  std::map<const Stream*, PerStream> streams_;
  SpaceNames spaces_;
  IndexContent content_;
  std::vector<HotBlock> profile_;
  std::vector<IndexedThread> threads_;
  std::vector<std::vector<ShareCalls>> stream_calls_;  // until AddThreads
  std::vector<std::vector<ShareCalls>> thread_calls_;  // empty where calls were not followed
  std::vector<std::vector<SegmentSteps>> steps_;       // of each stream's segments
  ToldRuns runs_;                                      // in them
  size_t gone_over_ = 0;
  bool from_cache_ = false;
};

FlowIndex::FlowIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FlowIndex::FlowIndex(FlowIndex&&) noexcept = default;
FlowIndex& FlowIndex::operator=(FlowIndex&&) noexcept = default;
FlowIndex::~FlowIndex() = default;

Result<FlowIndex> FlowIndex::Open(const std::vector<IndexedStream>& streams,
                                  const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                  const Options& options, const IndexCache& cache,
                                  IndexListener* listener) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->Begin(streams, decoder, options.times); !status)
    return Fail(status.error());
  const bool kept = IsUsable(cache);
  const DiskCache disk = DiskOf(cache);
  const auto file = kept ? disk.Load(cache.key) : nullptr;
  if (file == nullptr || !impl->Take(file->content())) {
    const auto begin = std::chrono::steady_clock::now();
    impl->Build(streams, SegmentSize(streams, options), options, listener);
    const auto took = std::chrono::steady_clock::now() - begin;
    if (kept && took > std::chrono::milliseconds(cache.worth_milliseconds)) {
      const std::vector<uint8_t> bytes = impl->ToBytes();
      if (!bytes.empty() && disk.Store(cache.key, bytes)) disk.Trim();
    }
  }
  impl->AddThreads(flows);
  return FlowIndex(std::move(impl));
}

Result<FlowIndex> FlowIndex::Open(const Recording& recording, const RecordingCode& code,
                                  const StreamInputs& inputs, Decoder& decoder,
                                  const Options& options, const IndexCache& cache,
                                  IndexListener* listener) {
  IndexCache keyed = cache;
  if (keyed.key.empty() && !keyed.folder.empty())
    keyed.key = IndexKey(recording, code, inputs, options);
  return Open(StreamsOf(recording, inputs), ThreadFlows(recording, inputs), decoder, options, keyed,
              listener);
}

Result<FlowIndex> FlowIndex::Build(const std::vector<IndexedStream>& streams,
                                   const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                   const Options& options) {
  return Open(streams, flows, decoder, options, {});
}

Result<FlowIndex> FlowIndex::Build(const Recording& recording, const StreamInputs& inputs,
                                   Decoder& decoder, const Options& options) {
  return Build(StreamsOf(recording, inputs), ThreadFlows(recording, inputs), decoder, options);
}

const std::vector<IndexedThread>& FlowIndex::threads() const { return impl_->threads(); }
void FlowIndex::Load(const FlowShare& share, FlowSegment& segment) { impl_->Load(share, segment); }
void FlowIndex::Play(const FlowShare& share, ExecutionConsumer& consumer) {
  impl_->Play(share, consumer);
}
bool FlowIndex::MayExecute(const FlowShare& share, uint64_t address) const {
  return impl_->MayExecute(share, address);
}
const std::vector<HotBlock>& FlowIndex::profile() const { return impl_->profile(); }
std::vector<HotBlock> FlowIndex::ProfileOf(const FlowShare& share) const {
  return impl_->ProfileOf(share);
}
uint32_t FlowIndex::StretchOf(const FlowShare& share) const { return impl_->StretchOf(share); }
size_t FlowIndex::segments() const { return impl_->segments(); }
const SpaceNames& IndexSpaces::Of(const FlowIndex& index) { return index.impl_->spaces(); }
const SegmentSteps& IndexSteps::Of(const FlowIndex& index, const FlowShare& share) {
  return index.impl_->StepsOf(share);
}
size_t IndexSteps::GoneOver(const FlowIndex& index) { return index.impl_->gone_over(); }
const ToldRuns& IndexSteps::Runs(const FlowIndex& index) { return index.impl_->runs(); }
const std::vector<ShareCalls>* IndexCalls::Of(const FlowIndex& index, size_t thread) {
  return index.impl_->CallsOf(thread);
}
bool FlowIndex::from_cache() const { return impl_->from_cache(); }
size_t FlowIndex::file_bytes() const { return impl_->ToBytes().size(); }

}  // namespace flowback
