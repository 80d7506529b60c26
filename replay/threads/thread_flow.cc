// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_flow.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "decode/pt/errata.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "flowback/model/block_batch.h"

namespace flowback {
namespace {

// Lets one stay's flow pass. A loss comes when it has ended, behind the events that were told in
// between, which may be other stays'. So only what is told while nothing is lost shows that all of
// the stay's has passed.
class StayFilter final : public ExecutionConsumer {
 public:
  StayFilter(const ThreadStay* stay, ExecutionConsumer& next) : stay_(stay), next_(next) {}

  void OnBlock(const BlockRun& run) override {
    if (Passes(run.stay, true)) next_.OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (Passes(batch.stay, true)) next_.OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Passes(event.stay, StartsFlow(event.kind))) next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (Passes(loss.stay, true)) next_.OnLoss(loss);
  }
  bool Done() const override { return past_ || next_.Done(); }

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
  ExecutionConsumer& next_;
  bool past_ = false;
};

// What lies before a place in a stream.
class Before {
 public:
  Before(const Stream& stream, const PtConfig& config)
      : stream_(stream), window_(stream.bytes, stream.joined), errata_(pt::ErrataOf(config.cpu)) {}

  // Offset of the last PSB at or before `offset`; 0 when there is none.
  size_t LastPsb(size_t offset) {
    constexpr size_t kFirstLook = 1 << 13;
    const size_t size = pt::Psb::kPattern.size();
    const Bytes bytes = stream_.bytes;
    size_t end = std::min(offset + size, bytes.size());
    for (size_t look = kFirstLook;; look *= 2) {
      const size_t begin = end - std::min(end, look);
      window_.Hold(begin, end);
      size_t last = end;
      for (size_t at = begin; (at = pt::FindPsb(bytes.first(end), at)) < end;) {
        const uint64_t gap = GapBehind(at);
        if (gap >= at + size) last = at;
        at = std::min(gap, at + size);
      }
      if (last < end) return last;
      if (begin == 0) return 0;
      end = begin + size - 1;
    }
  }

  // Whether what the PSB+ at `psb` says may be only a part of how an overflow before it resolves:
  // nothing of the flow stands between. `before`: the last PSB before it, or 0.
  bool OverflowReaches(size_t psb, size_t before) {
    if (GapBehind(before) <= psb) return false;
    window_.Hold(before, psb);
    pt::PebsState pebs;
    pt::Packet packet;
    bool overflow = true;  // one further before
    bool in_header = false;
    for (size_t at = before; at < psb;) {
      const Bytes rest = stream_.bytes.subspan(at, psb - at);
      const pt::ReadResult size = pt::ReadPacket(rest, pebs, packet, errata_);
      if (!size || (at == before && !std::holds_alternative<pt::Psb>(packet))) return false;
      at += *size;
      in_header |= std::holds_alternative<pt::Psb>(packet);
      if (std::holds_alternative<pt::Ovf>(packet)) {
        overflow = true;
        in_header = false;
      } else if (!in_header) {
        overflow &= std::visit([]<class P>(const P&) { return pt::kIsTiming<P>; }, packet);
      }
      in_header &= !std::holds_alternative<pt::PsbEnd>(packet);
    }
    return overflow;
  }

 private:
  // Offset of the first gap behind `offset`.
  uint64_t GapBehind(uint64_t offset) const {
    const auto gap = std::ranges::upper_bound(stream_.gaps, offset, {}, &StreamGap::offset);
    return gap == stream_.gaps.end() ? ~uint64_t{0} : gap->offset;
  }

  const Stream& stream_;
  StreamWindow window_;
  const pt::Errata errata_;
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

uint64_t DecodeFrom(const FlowPiece& piece, const PtConfig& config) {
  if (piece.begin == 0) return 0;
  Before before(*piece.stream, config);
  // What a PSB at its begin proves to have executed is the piece's.
  size_t from = before.LastPsb(piece.begin - 1);
  while (from != 0) {
    const size_t further = before.LastPsb(from - 1);
    if (!before.OverflowReaches(from, further)) break;
    from = further;
  }
  return from;
}

Status DecodePiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                   ExecutionConsumer& consumer) {
  return DecodePiece(piece, inputs.For(*piece.stream), decoder, consumer);
}

Status DecodePiece(const FlowPiece& piece, const DecodeInput& whole, Decoder& decoder,
                   ExecutionConsumer& consumer) {
  DecodeInput input = whole;
  input.from = DecodeFrom(piece, input.config);
  StayFilter filter(piece.stay, consumer);
  const Result<ByteAccount> account = decoder.Decode(input, filter);
  if (!account) return Fail(account.error());
  return {};
}

}  // namespace flowback
