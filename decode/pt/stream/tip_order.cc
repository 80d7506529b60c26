// SPDX-License-Identifier: MIT
#include "decode/pt/stream/tip_order.h"

#include <algorithm>
#include <variant>

#include "decode/pt/memo/quick_packets.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "flowback/base/joined_bytes.h"

namespace flowback::pt {
namespace {

// TNTs that stand directly before a TIP and a further TNT.
class TntsBeforeTips {
 public:
  void Add(const Packet& packet) {
    if (std::holds_alternative<Pad>(packet) || std::holds_alternative<Cyc>(packet)) return;
    if (const unsigned bits = TntCount(packet); bits != 0) return AddTnt(bits);
    before_tip_ = std::holds_alternative<Tip>(packet) ? last_ : 0;
    last_ = 0;
  }
  void AddTnt(unsigned bits) {
    if (before_tip_ != 0) ++(IsFullTnt(before_tip_) ? full_ : partial_);
    before_tip_ = 0;
    last_ = bits;
  }
  void Break() { before_tip_ = last_ = 0; }
  bool MostAreNotFull() const {
    constexpr unsigned kEnough = 16;
    constexpr unsigned kTimes = 3;
    return partial_ >= kEnough && partial_ >= kTimes * full_;
  }

 private:
  unsigned partial_ = 0;
  unsigned full_ = 0;
  unsigned last_ = 0;        // bits of the packet before, if that is a TNT
  unsigned before_tip_ = 0;  // bits of the TNT before the TIP before
};

}  // namespace

bool ShowsTipsAtOnce(const DecodeInput& input, const Errata& errata) {
  constexpr size_t kFar = 256 << 10;
  StreamWindow window(input.bytes, input.joined);
  const size_t size = input.bytes.size();
  size_t at = FindPsb(window, size, 0);
  const size_t end = std::min(size, at + kFar);
  TntsBeforeTips seen;
  PebsState pebs;
  Packet packet;
  while (at < end) {
    window.MoveTo(at);
    // Half of the packets: one byte shows their kind.
    if (const uint8_t tnt = QuickPackets::TntAt(&input.bytes[at]);
        tnt != 0 && pebs.item_bytes == 0) {
      seen.AddTnt(OutcomeCount(tnt >> 1));
      ++at;
      continue;
    }
    const ReadResult read = ReadPacket(input.bytes.subspan(at, end - at), pebs, packet, errata);
    if (!read) {
      seen.Break();
      pebs = {};
      at = FindPsb(window, end, at + 1);
      continue;
    }
    at += *read;
    seen.Add(packet);
    if (seen.MostAreNotFull()) return true;
  }
  return false;
}

}  // namespace flowback::pt
