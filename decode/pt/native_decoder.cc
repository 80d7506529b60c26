// SPDX-License-Identifier: MIT
#include "decode/pt/native_decoder.h"

#include <algorithm>

#include "decode/pt/count_blocks.h"
#include "decode/pt/count_ranges.h"
#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/make_segment_reader.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/parallel_count.h"
#include "decode/pt/sinks/batch_sink.h"
#include "decode/pt/sinks/event_sink.h"
#include "decode/pt/sinks/sinks.h"
#include "decode/pt/sum_stream.h"

namespace flowback::pt {
namespace {

Status Check(const DecodeInput& input) {
  if (input.code == nullptr || input.code->epochs.empty())
    return Fail(ErrorCode::kUsage, "no address space was given to decode against");
  return {};
}

class NativeDecoder final : public Decoder {
 public:
  explicit NativeDecoder(Delivery delivery) : batches_(delivery == Delivery::kBatches) {}

  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    if (input.times && !input.blocks) {
      const FlowSummary sum = SumTimed(input, consumer);
      return ByteAccount{sum.bytes_decoded, sum.bytes_padding, sum.bytes_lost};
    }
    if (RangeConsumer* const ranges = consumer.ranges(); ranges != nullptr && CountsRanges(input))
      return CountRanges(input, memory_, consumer, *ranges);
    CodeView code(*input.code, memory_.graphs);
    if (input.times) {
      return batches_ ? DecodeTimed<BatchedTimedSink>(input, code, consumer)
                      : DecodeTimed<TimedSink>(input, code, consumer);
    }
    if (batches_) {
      BatchWriter writer(consumer);
      BatchedSink sink(writer);
      return FlowEngine<BatchedSink>(input, code, memory_.memos, sink).Run();
    }
    ConsumerSink sink(consumer);
    return FlowEngine<ConsumerSink>(input, code, memory_.memos, sink).Run();
  }

  bool CountsRanges(const DecodeInput& input) const override { return batches_ && !input.times; }

  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    return MakeSegmentReader(input, memory_);
  }

  Result<FlowSummary> Summarize(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    if (const size_t segment = SegmentSize(input); segment != 0)
      return ParallelCounter<CountingSink>(input, ParallelMemory(input, segment), segment,
                                           InFlight(input))
          .Run();
    CountingSink sink;
    return SumStream(input, memory_, sink);
  }

  Result<FlowSummary> SummarizeTimed(const DecodeInput& input, ExecutionConsumer& events) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    return SumTimed(input, events);
  }

  Result<FlowSummary> Count(const DecodeInput& input, BlockCountConsumer& consumer) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    if (const size_t segment = SegmentSize(input); segment != 0)
      return CountBlocks(input, ParallelMemory(input, segment), segment, InFlight(input), consumer);
    return CountBlocks(input, memory_, consumer);
  }

 private:
  template <class Sink>
  ByteAccount DecodeTimed(const DecodeInput& input, CodeView& code, ExecutionConsumer& consumer) {
    TimeEstimator estimator(consumer, PtConfigOf(input.config));
    Sink sink(estimator);
    const ByteAccount account = FlowEngine<Sink>(input, code, memory_.memos, sink).Run();
    estimator.Finish();
    return account;
  }

  FlowSummary SumTimed(const DecodeInput& input, ExecutionConsumer& events) {
    return batches_ ? SumTimed<EventSink<true>>(input, events)
                    : SumTimed<EventSink<false>>(input, events);
  }
  template <class Sink>
  FlowSummary SumTimed(const DecodeInput& input, ExecutionConsumer& events) {
    TimeEstimator estimator(events, PtConfigOf(input.config));
    Sink sink(estimator);
    FlowSummary summary = SumStream(input, memory_, sink);
    estimator.Finish();
    return summary;
  }

  // Less than this is decoded before the threads have started. Each segment adds up its sums anew,
  // so large ones are better, as long as there are enough for no thread to wait long for the last.
  static constexpr size_t kSegmentSize = size_t{256} << 10;
  static constexpr size_t kMostSegmentSize = size_t{4} << 20;
  static constexpr size_t kSegmentsOfThread = 48;

  // Returns the size of segments to count in parallel; 0: not in parallel.
  static size_t SegmentSize(const DecodeInput& input) {
    const size_t least = 2 * (input.segment_bytes != 0 ? input.segment_bytes : kSegmentSize);
    if (input.threads <= 1 || input.from != 0 || input.bytes.size() < least ||
        input.code->key != AddressSpaceHistory::Key::kTime)
      return 0;
    if (input.segment_bytes != 0) return input.segment_bytes;
    const size_t fair = input.bytes.size() / (kSegmentsOfThread * input.threads);
    return std::clamp(fair, kSegmentSize, kMostSegmentSize);
  }
  static size_t InFlight(const DecodeInput& input) {
    return input.in_flight != 0 ? input.in_flight : 4 * size_t{input.threads};
  }
  std::deque<CodeMemory>& ParallelMemory(const DecodeInput& input, size_t segment) {
    parallel_memory_.resize(std::min<size_t>(input.threads, input.bytes.size() / segment) + 1);
    return parallel_memory_;
  }

  const bool batches_;
  CodeMemory memory_;
  std::deque<CodeMemory> parallel_memory_;  // one for each thread
};

}  // namespace

std::unique_ptr<Decoder> MakeNativeDecoder(Delivery delivery) {
  return std::make_unique<NativeDecoder>(delivery);
}

std::unique_ptr<Decoder> MakeNativeDecoder() { return MakeNativeDecoder(Delivery::kBatches); }

}  // namespace flowback::pt
