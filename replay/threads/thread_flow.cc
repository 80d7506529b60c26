// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_flow.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "decode/pt/packets/psb.h"
#include "flowback/model/block_batch.h"

namespace flowback {
namespace {

// Lets one stay's flow pass.
class StayFilter final : public ExecutionConsumer {
 public:
  StayFilter(const ThreadStay* stay, ExecutionConsumer& next) : stay_(stay), next_(next) {}

  void OnBlock(const BlockRun& run) override {
    if (Passes(run.stay)) next_.OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (Passes(batch.stay)) next_.OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Passes(event.stay)) next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (Passes(loss.stay)) next_.OnLoss(loss);
  }
  bool Done() const override { return past_ || next_.Done(); }

 private:
  bool Passes(const ThreadStay* stay) {
    if (stay == stay_) return begun_ = true;
    // Stays follow each other: another one after ours, or a later one, ends it.
    if (begun_ || (stay != nullptr && stay_ != nullptr && stay->begin > stay_->begin)) past_ = true;
    return false;
  }

  const ThreadStay* stay_;
  ExecutionConsumer& next_;
  bool begun_ = false;
  bool past_ = false;
};

// Offset of the last PSB at or before `offset`; 0 when there is none.
size_t LastPsb(const Stream& stream, size_t offset) {
  const Bytes bytes = stream.bytes;
  StreamWindow window(bytes, stream.joined);
  constexpr size_t kFirstLook = 1 << 13;
  const size_t size = pt::Psb::kPattern.size();
  size_t end = std::min(offset + size, bytes.size());
  for (size_t look = kFirstLook;; look *= 2) {
    const size_t begin = end - std::min(end, look);
    window.Hold(begin, end);
    size_t last = end;
    for (size_t at = begin; (at = pt::FindPsb(bytes.first(end), at)) < end; at += size) last = at;
    if (last < end) return last;
    if (begin == 0) return 0;
    end = begin + size - 1;
  }
}

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

uint64_t DecodeFrom(const FlowPiece& piece) {
  return piece.begin == 0 ? 0 : LastPsb(*piece.stream, piece.begin);
}

Status DecodePiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                   ExecutionConsumer& consumer) {
  DecodeInput input = inputs.For(*piece.stream);
  if (piece.begin != 0) input.from = DecodeFrom(piece);
  StayFilter filter(piece.stay, consumer);
  const Result<ByteAccount> account = decoder.Decode(input, filter);
  if (!account) return Fail(account.error());
  return {};
}

}  // namespace flowback
