// SPDX-License-Identifier: MIT
#include "decode/pt/source/sync_points.h"

#include <algorithm>
#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/source/packet_walk.h"
#include "decode/pt/stream/errata.h"
#include "decode/pt/time/clock.h"

namespace flowback::pt {
namespace {

// The bytes before a place in a stream.
class Before {
 public:
  Before(const Stream& stream, const CpuId& cpu)
      : stream_(stream), window_(stream.bytes, stream.joined), errata_(ErrataOf(cpu)) {}

  // Returns the offset of the last PSB at or before `offset`; 0: no PSB comes before.
  size_t LastPsb(size_t offset) {
    constexpr size_t kFirstLook = 1 << 13;
    const size_t size = Psb::kPattern.size();
    const Bytes bytes = stream_.bytes;
    size_t end = std::min(offset + size, bytes.size());
    for (size_t look = kFirstLook;; look *= 2) {
      const size_t begin = end - std::min(end, look);
      window_.Hold(begin, end);
      size_t last = end;
      for (size_t at = begin; (at = FindPsb(bytes.first(end), at)) < end;) {
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
    PebsState pebs;
    Packet packet;
    bool overflow = true;  // one further before
    bool in_header = false;
    for (size_t at = before; at < psb;) {
      const Bytes rest = stream_.bytes.subspan(at, psb - at);
      const ReadResult size = ReadPacket(rest, pebs, packet, errata_);
      if (!size || (at == before && !std::holds_alternative<Psb>(packet))) return false;
      at += *size;
      in_header |= std::holds_alternative<Psb>(packet);
      if (std::holds_alternative<Ovf>(packet)) {
        overflow = true;
        in_header = false;
      } else if (!in_header) {
        overflow &= std::visit([]<class P>(const P&) { return kIsTiming<P>; }, packet);
      }
      in_header &= !std::holds_alternative<PsbEnd>(packet);
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
  const Errata errata_;
};

// Returns the times of the packets from `from` on.
TscInterval TimesFrom(const Stream& stream, const PtConfig& config, uint64_t from) {
  Clock clock(config);
  PacketWalk walk(stream, config.cpu, from);
  for (PacketWalk::Step step; (step = walk.Next()) != PacketWalk::Step::kEnd;)
    if (step == PacketWalk::Step::kPacket) clock.OnAny(walk.packet());
  return {.lo = clock.first_tsc(), .hi = clock.tsc()};
}

}  // namespace

uint64_t SyncPointBefore(const Stream& stream, const CpuId& cpu, uint64_t offset) {
  if (offset == 0) return 0;
  Before before(stream, cpu);
  size_t point = before.LastPsb(offset - 1);
  while (point != 0) {
    const size_t further = before.LastPsb(point - 1);
    if (!before.OverflowReaches(point, further)) break;
    point = further;
  }
  return point;
}

uint64_t FirstTime(const Stream& stream, const PtConfig& config, StreamRange range) {
  constexpr uint64_t kFar = uint64_t{1} << 20;
  uint64_t end = std::min(range.end, range.begin + kFar);
  const auto gap = std::ranges::upper_bound(stream.gaps, range.begin, {}, &StreamGap::offset);
  if (gap != stream.gaps.end()) end = std::min(end, gap->offset);
  Clock clock(config);
  PacketWalk walk(stream, config.cpu, range.begin);
  while (clock.first_tsc() == 0) {
    const PacketWalk::Step step = walk.Next();
    if (step == PacketWalk::Step::kEnd || walk.offset() >= end) break;
    if (step == PacketWalk::Step::kPacket) clock.OnAny(walk.packet());
  }
  return clock.first_tsc();
}

// A long stream is read at its two ends only. Between the last sync points and its end the clock
// learns all that it knew.
TscInterval Times(const Stream& stream, const PtConfig& config) {
  const uint64_t size = stream.bytes.size();
  for (uint64_t look = uint64_t{256} << 10; look < size; look *= 8) {
    const uint64_t from = SyncPointBefore(stream, config.cpu, size - look);
    const uint64_t last = TimesFrom(stream, config, from).hi;
    if (last == 0) continue;
    const uint64_t first = FirstTime(stream, config, {.begin = 0, .end = size});
    if (first != 0) return {.lo = first, .hi = last};
    break;
  }
  return TimesFrom(stream, config, 0);
}

}  // namespace flowback::pt
