// SPDX-License-Identifier: MIT
#include "decode/pt/packets_ahead.h"

#include <cstddef>
#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/tip_order.h"

namespace flowback::pt {

// Reads the packet there and goes on behind it. False: there is none that can be read.
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
