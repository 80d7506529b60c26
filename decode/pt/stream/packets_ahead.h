// SPDX-License-Identifier: MIT
// Looking at the packets ahead.
//
// What some packets mean depends on the next one about the flow: a FUP begins a transfer when a TIP
// follows it. Any number of packets that say nothing of the flow may stand in between, and many of
// them ask the same, so what a look has found holds for all the packets that it went over:
//
//   packets   PTW   MTC   CYC   PIP   TIP
//                |<--------------->|       a look from here found the TIP: asked anywhere between
//             begin                at      the two, nothing is read again
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "decode/pt/packets/packet.h"
#include "decode/pt/stream/errata.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/decode/decoder.h"

namespace flowback::pt {

class PacketsAhead {
 public:
  // From where on packets are looked at, and up to where they follow each other.
  struct From {
    const uint8_t* at = nullptr;
    const uint8_t* end = nullptr;
    PebsState pebs{};
  };

  // All must outlive it. The bytes looked at stay in `window` as well.
  PacketsAhead(const DecodeInput& input, StreamWindow& window, const Errata& errata)
      : input_(input), window_(window), errata_(errata) {}

  // Returns whether the next packet about the flow is a TIP or TIP.PGD.
  bool FollowedByTip(const From& from) { return NextFrom(from) == Next::kTip; }
  // Returns whether it is a TIP.PGE. PSB+ with a FUP may stand in between as well. The look ends
  // after kFarthestEnable bytes, because it keeps in memory what it goes over.
  bool FollowedByEnable(const From& from);
  // Returns whether the next packet that is no timing packet is a TNT.
  bool FollowedByTnt(const From& from) {
    const bool is_short = from.pebs.item_bytes == 0 && from.at < from.end && (*from.at & 1) == 0 &&
                          *from.at > kExtendedPrefix;
    return is_short || LookForTnt(from);
  }
  // What comes next shows that tracing is off: a TIP.PGE, or a PSB+ without an IP.
  bool ShowsThatTracingIsOff(const From& from);
  // Whether TIPs of the whole stream come at once; computed once, on demand: tip_order.h.
  bool TipsComeAtOnce();

  // The packets are read from another place on.
  void Forget() { look_ = enable_look_ = {}; }

 private:
  static constexpr ptrdiff_t kFarthestEnable = 256 << 10;

  enum class Next : uint8_t { kNothing, kTip, kEnable, kOther };
  // From any packet at `begin` to `at` on, the next one about the flow is that at `at`.
  struct Look {
    const uint8_t* begin = nullptr;
    const uint8_t* at = nullptr;
    Next found = Next::kNothing;
  };

  Next NextFrom(const From& from) {
    if (from.at < look_.begin || from.at > look_.at) look_ = LookFrom(from);
    return look_.found;
  }
  static Next KindOf(const Packet& packet);
  Look LookFrom(From from);
  Look LookForEnable(From from);
  bool LookForTnt(From from);
  bool ReadPacketAt(From& from, Packet& packet);

  const DecodeInput& input_;
  StreamWindow& window_;
  const Errata& errata_;
  Look look_;
  Look enable_look_;                       // FollowedByEnable's
  std::optional<bool> tips_come_at_once_;  // empty: not looked up yet
};

}  // namespace flowback::pt
