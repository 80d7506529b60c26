// SPDX-License-Identifier: MIT
#include "decode/pt/source/packet_batches.h"

#include <utility>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "decode/pt/source/packet_walk.h"
#include "decode/pt/time/clock.h"

namespace flowback::pt {
namespace {

// A packet by itself does not contain a whole address: each is kept with the Last IP ahead of it.
class Batch final : public PacketBatch {
 public:
  struct Entry {
    TracePacket told;
    uint64_t last_ip = 0;
    Packet packet;
  };

  size_t size() const override { return entries_.size(); }
  const TracePacket& operator[](size_t i) const override { return entries_[i].told; }
  std::string_view Name(size_t i) const override { return NameOf(entries_[i].packet); }
  std::string Payload(size_t i) const override {
    LastIp last_ip;
    last_ip.Set(entries_[i].last_ip);
    return Describe(entries_[i].packet, &last_ip);
  }
  void Clear() override { entries_.clear(); }
  void Add(Entry entry) { entries_.push_back(std::move(entry)); }

 private:
  std::vector<Entry> entries_;
};

class Reader final : public PacketReader {
 public:
  Reader(const Stream& stream, const PtConfig& config)
      : walk_(stream, config.cpu), clock_(config) {}

  std::unique_ptr<PacketBatch> NewBatch() const override { return std::make_unique<Batch>(); }

  bool Read(PacketBatch& batch, size_t count) override {
    auto& entries = static_cast<Batch&>(batch);
    for (; count > 0; --count) {
      const PacketWalk::Step step = walk_.Next();
      if (step == PacketWalk::Step::kEnd) return false;
      Batch::Entry entry{.told = {.offset = walk_.offset(), .size = walk_.size()},
                         .last_ip = last_ip_.value(),
                         .packet = {}};
      if (step == PacketWalk::Step::kPacket) {
        entry.packet = walk_.packet();
        clock_.OnAny(entry.packet);
        Follow(entry.packet, last_ip_);
      } else {
        entry.told.lost = walk_.cause();
      }
      entry.told.tsc = clock_.tsc();
      entries.Add(std::move(entry));
    }
    return true;
  }

 private:
  PacketWalk walk_;
  Clock clock_;
  LastIp last_ip_;
};

}  // namespace

std::unique_ptr<PacketReader> ReadPackets(const Stream& stream, const PtConfig& config) {
  return std::make_unique<Reader>(stream, config);
}

}  // namespace flowback::pt
