// SPDX-License-Identifier: MIT
#include "flowback/replay/flow_index.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flowback {
namespace {

// What each stay has in the segment at hand.
class ShareCounter final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    FlowShare& share = Of(run.stay);
    share.instructions += run.lengths.size();
    Told(share, run.TscOf(0));
    Told(share, run.tsc);
  }
  void OnBlocks(const BlockBatch& batch) override {
    FlowShare& share = Of(batch.stay);
    share.instructions += batch.instructions();
    Told(share, batch.first_tsc());
    Told(share, batch.last_tsc());
  }
  void OnEvent(const TraceEvent& event) override {
    FlowShare& share = Of(event.stay);
    ++share.events;
    Told(share, event.tsc);
  }
  void OnLoss(const DataLoss& loss) override {
    FlowShare& share = Of(loss.stay);
    ++share.losses;
    Told(share, loss.tsc);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    FlowShare& share = Of(unknown.stay);
    ++share.unknown;
    Told(share, unknown.tsc);
  }

  std::vector<FlowShare> Take() { return std::exchange(shares_, {}); }

 private:
  // Mostly the last one's.
  FlowShare& Of(const ThreadStay* stay) {
    for (auto share = shares_.rbegin(); share != shares_.rend(); ++share)
      if (share->stay == stay) return *share;
    shares_.push_back({.stay = stay});
    return shares_.back();
  }
  static void Told(FlowShare& share, uint64_t tsc) {
    if (tsc == 0) return;
    if (share.first_tsc == 0) share.first_tsc = tsc;
    share.last_tsc = std::max(share.last_tsc, tsc);
  }

  std::vector<FlowShare> shares_;
};

// Keeps one stay's flow.
class StayRecorder final : public SegmentRecorder {
 public:
  StayRecorder(const ThreadStay* stay, FlowSegment& segment)
      : SegmentRecorder(segment), stay_(stay) {}

  void OnBlock(const BlockRun& run) override {
    if (run.stay == stay_) SegmentRecorder::OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (batch.stay == stay_) SegmentRecorder::OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.stay == stay_) SegmentRecorder::OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.stay == stay_) SegmentRecorder::OnLoss(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    if (unknown.stay == stay_) SegmentRecorder::OnUnknown(unknown);
  }

 private:
  const ThreadStay* stay_;
};

// Where a segment begins and ends.
struct Place {
  std::shared_ptr<const FlowReader::State> before;
  uint64_t stop = 0;   // FlowReader::ReadTo's
  unsigned steps = 0;  // so many beyond it
};

// A state keeps all that waits for its time; directly behind a packet that tells the time that is
// little. So a segment goes on to there, in steps, unless it is far. Where a reader stops decides
// how much it has told: who reads the segment again makes the same steps.
constexpr uint64_t kStep = 64;  // bytes
constexpr size_t kLittle = 128;

unsigned StepsToTime(FlowReader& reader, uint64_t stop, uint64_t size,
                     ExecutionConsumer& consumer) {
  unsigned steps = 0;
  for (size_t before = 0; reader.waiting() > kLittle && reader.waiting() >= before; ++steps) {
    if (reader.at_end() || steps * kStep >= size / 8) break;
    before = reader.waiting();
    reader.ReadTo(stop + (steps + 1) * kStep, consumer);
  }
  return steps;
}

void ReadAgain(FlowReader& reader, const Place& place, ExecutionConsumer& consumer) {
  reader.Return(*place.before);
  for (unsigned step = 0; step <= place.steps; ++step)
    reader.ReadTo(place.stop + step * kStep, consumer);
}

using SharesByStay = std::map<std::pair<const Stream*, const ThreadStay*>, std::vector<FlowShare>>;

}  // namespace

class FlowIndex::Impl {
 public:
  Status Add(const IndexedStream& source, Decoder& decoder, const Options& options, uint64_t size,
             SharesByStay& shares) {
    PerStream& stream = streams_[source.stream];
    stream.input = *source.input;
    stream.input.times = options.times;
    auto reader = decoder.Read(stream.input);
    if (!reader) return Fail(reader.error());
    stream.reader = std::move(*reader);
    ShareCounter counter;
    while (!stream.reader->at_end()) {
      const auto number = static_cast<uint32_t>(stream.segments.size());
      const uint64_t stop = stream.reader->offset() + size;
      stream.segments.push_back({.before = stream.reader->Save(), .stop = stop});
      stream.reader->ReadTo(stop, counter);
      stream.segments.back().steps = StepsToTime(*stream.reader, stop, size, counter);
      for (FlowShare& share : counter.Take()) {
        share.stream = source.stream;
        share.segment = number;
        shares[{source.stream, share.stay}].push_back(share);
      }
    }
    return {};
  }

  void AddThread(const ThreadFlow& flow, SharesByStay& shares) {
    IndexedThread thread;
    thread.pid = flow.pid;
    thread.tid = flow.tid;
    for (const FlowPiece& piece : flow.pieces) {
      for (FlowShare& share : shares[{piece.stream, piece.stay}]) {
        share.first = thread.instructions;
        thread.instructions += share.instructions;
        thread.shares.push_back(share);
      }
    }
    threads_.push_back(std::move(thread));
  }

  void Load(const FlowShare& share, FlowSegment& segment) {
    PerStream& stream = streams_.at(share.stream);
    const Place& place = stream.segments[share.segment];
    segment.Clear();
    StayRecorder recorder(share.stay, segment);
    ReadAgain(*stream.reader, place, recorder);
  }

  const std::vector<IndexedThread>& threads() const { return threads_; }
  size_t segments() const {
    size_t count = 0;
    for (const auto& [stream, indexed] : streams_) count += indexed.segments.size();
    return count;
  }

 private:
  struct PerStream {
    DecodeInput input;
    std::unique_ptr<FlowReader> reader;
    std::vector<Place> segments;
  };

  std::map<const Stream*, PerStream> streams_;
  std::vector<IndexedThread> threads_;
};

FlowIndex::FlowIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FlowIndex::FlowIndex(FlowIndex&&) noexcept = default;
FlowIndex& FlowIndex::operator=(FlowIndex&&) noexcept = default;
FlowIndex::~FlowIndex() = default;

Result<FlowIndex> FlowIndex::Build(const std::vector<IndexedStream>& streams,
                                   const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                   const Options& options) {
  uint64_t bytes = 0;
  for (const IndexedStream& source : streams) bytes += source.input->bytes.size();
  const uint64_t size = std::max(options.segment_bytes, bytes / kMostSegments);
  auto impl = std::make_unique<Impl>();
  SharesByStay shares;
  for (const IndexedStream& source : streams)
    if (Status status = impl->Add(source, decoder, options, size, shares); !status)
      return Fail(status.error());
  for (const ThreadFlow& flow : flows) impl->AddThread(flow, shares);
  return FlowIndex(std::move(impl));
}

Result<FlowIndex> FlowIndex::Build(const Recording& recording, const StreamInputs& inputs,
                                   Decoder& decoder, const Options& options) {
  std::vector<IndexedStream> streams;
  for (const Stream& stream : recording.streams) streams.push_back({&stream, &inputs.For(stream)});
  return Build(streams, ThreadFlows(recording, inputs), decoder, options);
}

const std::vector<IndexedThread>& FlowIndex::threads() const { return impl_->threads(); }
void FlowIndex::Load(const FlowShare& share, FlowSegment& segment) { impl_->Load(share, segment); }
size_t FlowIndex::segments() const { return impl_->segments(); }

}  // namespace flowback
