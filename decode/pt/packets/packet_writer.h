// SPDX-License-Identifier: MIT
// Writes packets as hardware does: collects TNT bits, compresses IPs.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "decode/pt/packets/packet.h"

namespace flowback::pt {

struct PacketWriterOptions {
  bool long_tnt = false;  // use long TNT packets for more than six outcomes
  // Then: short ones in their stead where those are fewer bytes and no time packet stands between
  // the outcomes and their packet. (A decoder takes only the first packet after a time packet to
  // hold branches older than that.)
  bool short_where_smaller = false;
  // PSB resets Last IP, and the next IP may be compressed against zero. Hardware writes it in full
  // all the same, and perf 6.1 relies on that.
  bool full_ip_after_psb = false;
};

// Branch outcomes that no packet contains yet: `count` bits, the oldest highest.
struct PendingTnt {
  uint64_t bits = 0;
  unsigned count = 0;
};

// Not thread-safe. Pending TNT bits stand before the next packet, except time packets.
class PacketWriter {
 public:
  explicit PacketWriter(PacketWriterOptions options = {}) : options_(options) {}

  // The written bytes, without pending TNT bits.
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Hands out the bytes and goes on with an empty buffer; call FlushTnt first at the end of a
  // trace.
  std::vector<uint8_t> Take() { return std::exchange(bytes_, {}); }

  // Forgets what was written and keeps the buffer.
  void Discard() { bytes_.clear(); }

  // Any packet as it is. Keeps track of Last IP where the packet changes it.
  template <class P>
  void Write(const P& packet) {
    FlushTnt();
    packet.Encode(ByteSink(bytes_));
    if constexpr (requires { packet.ip.ip_bytes; }) Track(packet.ip);
    if constexpr (std::is_same_v<P, pt::Psb>) ResetLastIp();
    if constexpr (std::is_same_v<P, Ovf>) last_ip_known_ = false;
  }
  // The same without flushing TNT bits: MTC, TSC, CYC, CBR, TMA may stand before branches older
  // than they are.
  template <class P>
  void TimePacket(const P& packet) {
    time_among_tnt_ = tnt_count_ != 0;
    packet.Encode(ByteSink(bytes_));
  }

  void TntBit(bool taken) {
    const bool flushes = NextTntFlushes();
    HoldTnt(taken);
    if (flushes) FlushTnt();
  }
  // The same where NextTntFlushes() is false.
  void HoldTnt(bool taken) {
    tnt_bits_ = tnt_bits_ << 1 | (taken ? 1 : 0);
    ++tnt_count_;
  }
  void FlushTnt();
  unsigned pending_tnt() const { return tnt_count_; }
  PendingTnt pending() const { return {tnt_bits_, tnt_count_}; }
  // Takes outcomes that were held back elsewhere in place of those held here.
  void SetPending(PendingTnt pending) {
    tnt_bits_ = pending.bits;
    tnt_count_ = pending.count;
  }
  bool NextTntFlushes() const {
    return tnt_count_ + 1 == (options_.long_tnt ? LongTnt::kMaxCount : ShortTnt::kMaxCount);
  }

  // nullopt: IP suppressed.
  void Tip(std::optional<uint64_t> ip) { Write(pt::Tip{Compress(ip)}); }
  void TipPge(std::optional<uint64_t> ip) { Write(pt::TipPge{Compress(ip)}); }
  void TipPgd(std::optional<uint64_t> ip) { Write(pt::TipPgd{Compress(ip)}); }
  void Fup(std::optional<uint64_t> ip) { Write(pt::Fup{Compress(ip)}); }
  void Psb() { Write(pt::Psb{}); }

 private:
  void PutShortTnts();
  IpPayload Compress(std::optional<uint64_t> ip) const;
  void Track(const IpPayload& ip) {
    if (last_ip_.Apply(ip)) last_ip_known_ = true;
  }
  void ResetLastIp() {
    last_ip_.Reset();
    last_ip_known_ = !options_.full_ip_after_psb;
  }

  PacketWriterOptions options_;
  std::vector<uint8_t> bytes_;
  LastIp last_ip_;
  // Decoders disagree on whether OVF resets Last IP; so the IP after it does not depend on it.
  bool last_ip_known_ = true;
  bool time_among_tnt_ = false;  // a time packet was written since the first pending outcome
  uint64_t tnt_bits_ = 0;
  unsigned tnt_count_ = 0;
};

}  // namespace flowback::pt
