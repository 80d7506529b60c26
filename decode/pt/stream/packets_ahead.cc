// SPDX-License-Identifier: MIT
#include "decode/pt/stream/packets_ahead.h"

#include <cstddef>
#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/stream/tip_order.h"

namespace flowback::pt {

// Reads the packet there and goes on behind it. False: no packet can be read there.
bool PacketsAhead::ReadPacketAt(From& from, Packet& packet) {
  if (from.at < from.end) window_.Reach(static_cast<size_t>(from.at - input_.bytes.data()));
  const Bytes rest(from.at, static_cast<size_t>(from.end - from.at));
  const ReadResult size = ReadPacket(rest, from.pebs, packet, errata_);
  if (size) from.at += *size;
  return size.has_value();
}

// kNothing: it may stand in between.
PacketsAhead::Next PacketsAhead::KindOf(const Packet& packet) {
  return std::visit(
      []<class P>(const P&) {
        if (kMayIntervene<P>) return Next::kNothing;
        if (kIsOneOf<P, Tip, TipPgd>) return Next::kTip;
        return kIsOneOf<P, TipPge> ? Next::kEnable : Next::kOther;
      },
      packet);
}

PacketsAhead::Look PacketsAhead::LookFrom(From from) {
  Look look{.begin = from.at, .at = from.at};
  Packet packet;
  while (from.at < from.end && ReadPacketAt(from, packet)) {
    look.found = KindOf(packet);
    if (look.found != Next::kNothing) break;
    look.at = from.at;
  }
  return look;
}

PacketsAhead::Look PacketsAhead::LookForEnable(From from) {
  Look look{.begin = from.at, .at = from.at};
  Packet packet;
  bool in_header = false;
  bool has_fup = false;
  while (from.at < from.end && from.at - look.begin < kFarthestEnable &&
         ReadPacketAt(from, packet)) {
    if (std::holds_alternative<Psb>(packet)) {
      in_header = true;
      has_fup = false;
    }
    has_fup |= std::holds_alternative<Fup>(packet);
    const bool ends_header = std::holds_alternative<PsbEnd>(packet);
    const bool cut = std::holds_alternative<Ovf>(packet) || (ends_header && !has_fup);
    if (!in_header || cut) look.found = cut ? Next::kOther : KindOf(packet);
    if (look.found != Next::kNothing) break;
    if (ends_header) in_header = false;
    if (!in_header) look.at = from.at;
  }
  return look;
}

bool PacketsAhead::FollowedByEnable(const From& from) {
  if (from.at < enable_look_.begin || from.at > enable_look_.at) enable_look_ = LookForEnable(from);
  return enable_look_.found == Next::kEnable;
}

bool PacketsAhead::LookForTnt(From from) {
  Packet packet;
  while (from.at < from.end && ReadPacketAt(from, packet)) {
    if (TntCount(packet) != 0) return true;
    if (!std::visit([]<class P>(const P&) { return kIsTiming<P>; }, packet)) return false;
  }
  return false;
}

bool PacketsAhead::ShowsThatTracingIsOff(const From& from) {
  From place = from;
  Packet packet;
  for (bool in_header = false; ReadPacketAt(place, packet);) {
    if (std::holds_alternative<TipPge>(packet)) return true;
    if (in_header && std::holds_alternative<PsbEnd>(packet)) return true;
    in_header |= std::holds_alternative<Psb>(packet);
    const bool may_intervene =
        std::visit([]<class P>(const P&) { return kMayIntervene<P> || kIsOneOf<P, Psb>; }, packet);
    if (!may_intervene) return false;
  }
  return false;
}

bool PacketsAhead::TipsComeAtOnce() {
  if (!tips_come_at_once_) tips_come_at_once_ = ShowsTipsAtOnce(input_, errata_);
  return *tips_come_at_once_;
}

}  // namespace flowback::pt
