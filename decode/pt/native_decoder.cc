// SPDX-License-Identifier: MIT
#include "decode/pt/native_decoder.h"

#include <algorithm>

#include "decode/pt/batch_sink.h"
#include "decode/pt/event_sink.h"
#include "decode/pt/flow_bind.h"
#include "decode/pt/flow_engine.h"
#include "decode/pt/flow_hot.h"
#include "decode/pt/flow_memo.h"
#include "decode/pt/flow_packets.h"
#include "decode/pt/flow_sync.h"
#include "decode/pt/flow_walk.h"
#include "decode/pt/make_segment_reader.h"
#include "decode/pt/memo_cache.h"
#include "decode/pt/parallel_count.h"
#include "decode/pt/sinks.h"

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
    CodeView code(*input.code, memory_.graphs);
    if (input.times) {
      if (!input.blocks)
        return batches_ ? DecodeTimed<EventSink<true>>(input, code, consumer)
                        : DecodeTimed<EventSink<false>>(input, code, consumer);
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

  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    return MakeSegmentReader(input, memory_);
  }

  Result<FlowSummary> Summarize(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    if (InParallel(input)) return SummarizeInParallel(input);
    CodeView code(*input.code, memory_.graphs);
    CountingSink sink;
    FlowEngine<CountingSink> engine(input, code, memory_.memos, sink);
    const ByteAccount account = engine.Run();
    FlowSummary summary = std::move(sink).Summary();
    summary.bytes_decoded = account.decoded;
    summary.bytes_padding = account.padding;
    summary.bytes_lost = account.lost;
    if (!summary.parts.empty() && summary.parts.front().totals.first_tsc == 0)
      summary.parts.front().totals.first_tsc = engine.clock().first_tsc();
    summary.first_tsc = engine.clock().first_tsc();
    summary.last_tsc = engine.clock().tsc();
    return summary;
  }

 private:
  template <class Sink>
  ByteAccount DecodeTimed(const DecodeInput& input, CodeView& code, ExecutionConsumer& consumer) {
    TimeEstimator estimator(consumer, input.config);
    Sink sink(estimator);
    const ByteAccount account = FlowEngine<Sink>(input, code, memory_.memos, sink).Run();
    estimator.Finish();
    return account;
  }

  // Less than this is decoded before the threads have started. Each piece adds up its sums anew, so
  // large ones are better, as long as there are enough for no thread to wait long for the last.
  static constexpr size_t kPieceSize = size_t{256} << 10;
  static constexpr size_t kMostPieceSize = size_t{4} << 20;
  static constexpr size_t kPiecesOfThread = 48;

  static bool InParallel(const DecodeInput& input) {
    return input.threads > 1 && input.from == 0 &&
           input.bytes.size() >= 2 * (input.piece_size != 0 ? input.piece_size : kPieceSize) &&
           input.code->key == AddressSpaceHistory::Key::kTime;
  }

  FlowSummary SummarizeInParallel(const DecodeInput& input) {
    const size_t fair = input.bytes.size() / (kPiecesOfThread * input.threads);
    const size_t size =
        input.piece_size != 0 ? input.piece_size : std::clamp(fair, kPieceSize, kMostPieceSize);
    const size_t useful = std::min<size_t>(input.threads, input.bytes.size() / size);
    parallel_memory_.resize(useful + 1);
    const size_t window = input.window != 0 ? input.window : 4 * size_t{input.threads};
    return ParallelCounter(input, parallel_memory_, size, window).Run();
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
