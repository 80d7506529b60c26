// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <tuple>

#include "flowback/model/block_batch.h"
#include "flowback/replay/threads.h"
#include "replay/flow/filtered_decoder.h"

namespace flowback {
namespace {

// Lets one stay's flow pass. A loss comes when it has ended, after the events in between, which may
// belong to other stays. So only flow without a loss shows that all of the stay's flow has passed.
class StayFilter final : public ExecutionConsumer {
 public:
  explicit StayFilter(const ThreadStay* stay) : stay_(stay) {}

  void PassTo(ExecutionConsumer& next) { next_ = &next; }
  bool is_over() const { return past_; }

  void OnBlock(const BlockRun& run) override {
    if (Passes(run.stay, true)) next_->OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (Passes(batch.stay, true)) next_->OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Passes(event.stay, StartsFlow(event.kind))) next_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (Passes(loss.stay, true)) next_->OnLoss(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    if (Passes(unknown.stay, true)) next_->OnUnknown(unknown);
  }
  bool Done() const override { return past_ || next_->Done(); }

 private:
  static bool StartsFlow(EventKind kind) {
    return kind == EventKind::kStarted || kind == EventKind::kOverflow;
  }
  // `known`: where it stands in the stay's, the flow is not lost.
  bool Passes(const ThreadStay* stay, bool known) {
    if (stay == stay_) return true;
    past_ |= known && stay != nullptr && stay_ != nullptr && stay->begin > stay_->begin;
    return false;
  }

  const ThreadStay* stay_;
  ExecutionConsumer* next_ = nullptr;
  bool past_ = false;
};

}  // namespace

std::vector<ThreadFlow> ThreadFlows(const Recording& recording, const StreamInputs& inputs) {
  using Key = std::tuple<bool, int32_t, uint32_t>;  // nobody's?, tid, stream
  std::map<Key, ThreadFlow> flows;
  for (const Stream& stream : recording.streams) {
    const std::vector<StayChange>& changes = inputs.For(stream).changes;
    for (size_t i = 0; i < changes.size(); ++i) {
      const ThreadStay* stay = changes[i].stay;
      const uint64_t end = i + 1 < changes.size() ? changes[i + 1].offset : stream.bytes.size();
      const bool nobody = stay->tid < 0;
      ThreadFlow& flow = flows[{nobody, stay->tid, nobody ? stream.index : 0}];
      flow.tid = stay->tid;
      if (flow.pid < 0) flow.pid = stay->pid;
      flow.pieces.push_back({&stream, stay, changes[i].offset, end});
    }
  }
  std::vector<ThreadFlow> sorted;
  for (auto& [key, flow] : flows) {
    if (flow.tid >= 0)
      std::ranges::stable_sort(flow.pieces, {},
                               [](const FlowPiece& piece) { return piece.stay->begin; });
    sorted.push_back(std::move(flow));
  }
  return sorted;
}

uint64_t DecodeFrom(const FlowPiece& piece, const TraceSource& source) {
  // What a sync point at its begin proves to have executed is the piece's.
  return source.SyncPointBefore(*piece.stream, piece.begin);
}

Status DecodePiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                   ExecutionConsumer& consumer) {
  return DecodePiece(piece, inputs.For(*piece.stream), inputs.source(), decoder, consumer);
}

Status DecodePiece(const FlowPiece& piece, const DecodeInput& whole, const TraceSource& source,
                   Decoder& decoder, ExecutionConsumer& consumer) {
  DecodeInput input = whole;
  input.from = std::max(DecodeFrom(piece, source), whole.from);
  StayFilter filter(piece.stay);
  filter.PassTo(consumer);
  const Result<ByteAccount> account = decoder.Decode(input, filter);
  if (!account) return Fail(account.error());
  return {};
}

Result<PieceReader> ReadPiece(const FlowPiece& piece, const StreamInputs& inputs,
                              Decoder& decoder) {
  PieceReader read;
  read.input = std::make_unique<DecodeInput>(inputs.For(*piece.stream));
  if (!IsWholeStream(piece))
    read.input->from = std::max(DecodeFrom(piece, inputs.source()), read.input->from);
  Result<std::unique_ptr<FlowReader>> reader = decoder.Read(*read.input);
  if (!reader) return Fail(reader.error());
  read.flow = *std::move(reader);
  if (!IsWholeStream(piece))
    read.flow =
        std::make_unique<FilteredReader<StayFilter>>(std::move(read.flow), StayFilter(piece.stay));
  return read;
}

}  // namespace flowback
