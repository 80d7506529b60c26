// SPDX-License-Identifier: MIT
// Most bytes of a stream are short TNTs, TIPs and padding, which need not be read as long as
// tracing is on: PacketWalk::SkipFlow counts them, many at a time. Each other packet is read, and
// given to those who follow the pauses and the sync points.
#include "decode/pt/source/index_stream.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "decode/pt/packets/last_ip.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/source/packet_walk.h"
#include "decode/pt/source/pauses.h"
#include "decode/stream_index.h"

namespace flowback::pt {
namespace {

// Makes a sync point of each PSB+, unless it is close to the last kept one.
class SyncPointFinder {
 public:
  void OnPsb(size_t offset) {
    in_header_ = points_.empty() || offset - points_.back().offset >= StreamIndex::kSyncSpacing;
    if (in_header_) points_.push_back({.offset = offset});
  }
  void OnTsc(uint64_t tsc) {
    for (; timed_ != points_.size(); ++timed_) points_[timed_].first_tsc = tsc;
  }
  // The packets of a PSB+ stand behind nothing: so does its address.
  void OnFup(const Fup& fup) {
    LastIp none;
    if (in_header_) points_.back().ip = none.Apply(fup.ip);
  }
  void OnHeaderEnd() { in_header_ = false; }
  // Later packets stand for themselves.
  void OnGap() {
    in_header_ = false;
    timed_ = points_.size();
  }
  std::vector<SyncPoint> Take() { return std::exchange(points_, {}); }

 private:
  std::vector<SyncPoint> points_;
  size_t timed_ = 0;  // those before have their time, or get none
  bool in_header_ = false;
};

class PacketCounts {
 public:
  void Add(const Packet& packet, size_t size) {
    Kind& kind = kinds_[packet.index()];
    if (kind.sum.count++ == 0) kind.name = NameOf(packet);
    kind.sum.bytes += size;
  }
  void Add(const PacketWalk::Flow& flow) {
    AddTo(ShortTnt::kName, {flow.tnts, flow.tnts});
    AddTo(Tip::kName, {flow.tips, flow.tip_bytes});
    AddTo(Pad::kName, {flow.pads, flow.pads});
  }
  void MoveTo(StreamIndex& index) {
    for (const Kind& kind : kinds_) AddTo(kind.name, kind.sum);
    index.packets.assign(by_name_.begin(), by_name_.end());
    for (const auto& [name, sum] : by_name_)
      (name == Pad::kName ? index.padding_bytes : index.packet_bytes) += sum.bytes;
  }

 private:
  struct Kind {
    std::string_view name;
    PacketCount sum;
  };
  void AddTo(std::string_view name, const PacketCount& sum) {
    if (sum.count == 0) return;
    PacketCount& all = by_name_[name];
    all.count += sum.count;
    all.bytes += sum.bytes;
  }

  std::array<Kind, std::variant_size_v<Packet>> kinds_{};
  std::map<std::string_view, PacketCount> by_name_;
};

class Indexer {
 public:
  Indexer(const Stream& stream, const PtConfig& config, std::function<void(const Pause&)> tell)
      : stream_(stream),
        tsc_reference_(config.tsc_reference),
        walk_(stream, config.cpu),
        pauses_(config, std::move(tell)) {}

  // Goes on until the end, or until `stop` says so.
  void Run(const bool& stop) {
    while (!stop) {
      if (pauses_.on()) walk_.SkipFlow(flow_);
      const PacketWalk::Step step = walk_.Next();
      if (step == PacketWalk::Step::kEnd) break;
      PassGaps(walk_.offset());
      if (step == PacketWalk::Step::kPacket)
        Take(walk_.packet());
      else
        Unread();
    }
    if (stop) return;
    PassGaps(stream_.bytes.size());
    pauses_.Finish(stream_.bytes.size());
  }

  bool timed() const { return pauses_.clock().tsc() != 0; }
  void MoveTo(StreamIndex& index) {
    counts_.Add(flow_);
    counts_.MoveTo(index);
    index.packet_bytes -= walk_.told_twice();
    index.sync_points = points_.Take();
    index.unread_bytes = unread_;
    index.times = {.lo = pauses_.clock().first_tsc(), .hi = pauses_.clock().tsc()};
  }

 private:
  void PassGaps(size_t offset) {
    for (; gap_ < stream_.gaps.size() && stream_.gaps[gap_].offset <= offset; ++gap_) {
      pauses_.Lose();
      points_.OnGap();
    }
  }
  void Unread() {
    unread_ += walk_.size();
    pauses_.Lose();
    points_.OnHeaderEnd();
  }

  void Take(const Packet& packet) {
    counts_.Add(packet, walk_.size());
    if (std::holds_alternative<Psb>(packet)) {
      synced_ = true;
      points_.OnPsb(walk_.offset());
    }
    // Decoders do not use times from before a processor's first PSB.
    if (!synced_) return;
    pauses_.Take(packet, walk_.offset());
    // Uses what a reader that begins there knows, without earlier packets.
    if (const Tsc* tsc = std::get_if<Tsc>(&packet))
      points_.OnTsc(WholeTsc(tsc->tsc, tsc_reference_));
    if (const Fup* fup = std::get_if<Fup>(&packet)) points_.OnFup(*fup);
    if (std::holds_alternative<PsbEnd>(packet) || std::holds_alternative<Ovf>(packet))
      points_.OnHeaderEnd();
  }

  const Stream& stream_;
  const uint64_t tsc_reference_;
  PacketWalk walk_;
  PacketWalk::Flow flow_;
  PauseFinder pauses_;
  SyncPointFinder points_;
  PacketCounts counts_;
  size_t gap_ = 0;  // the next one
  uint64_t unread_ = 0;
  bool synced_ = false;  // a PSB has come
};

}  // namespace

std::shared_ptr<const StreamIndex> IndexStream(const Stream& stream, const PtConfig& config,
                                               const std::function<bool(const Pause&)>& visit) {
  auto index = std::make_shared<StreamIndex>();
  index->pauses = PauseList(StreamIndex::MostPauseBytes(stream.bytes.size()));
  bool told = !visit;
  Indexer indexer(stream, config, [&](const Pause& pause) {
    index->pauses.Add(pause);
    told = told || !visit(pause);
  });
  indexer.Run(false);
  indexer.MoveTo(*index);
  return index;
}

bool VisitPauses(const Stream& stream, const PtConfig& config,
                 const std::function<bool(const Pause&)>& visit) {
  bool stop = false;
  Indexer indexer(stream, config, [&](const Pause& pause) { stop = stop || !visit(pause); });
  indexer.Run(stop);
  return indexer.timed();
}

}  // namespace flowback::pt
