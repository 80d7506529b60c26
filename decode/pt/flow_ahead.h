// SPDX-License-Identifier: MIT
// FlowEngine, part 6: looking at the packets ahead.
//
// What some packets mean depends on the next one that tells of the flow: a FUP begins a transfer
// when a TIP follows it. Any number of packets that say nothing of the flow may stand in between,
// and many of them ask the same, so what a look has found holds for all the packets that it went
// over.
#pragma once

#include <typeinfo>
#include <variant>

#include "decode/pt/flow_engine.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/tip_order.h"

namespace flowback::pt {

// The kind of the next packet, but for those that may stand in between; null where there is none.
template <FlowSink Sink>
const std::type_info* FlowEngine<Sink>::NextKind() {
  if (pos_ < ahead_.begin || pos_ > ahead_.at) Look();
  return ahead_.kind;
}

template <FlowSink Sink>
void FlowEngine<Sink>::Look() {
  ahead_ = {.begin = pos_, .at = pos_};
  PebsState pebs = pebs_;
  Packet packet;
  while (ahead_.at < end_) {
    window_.Reach(Offset(ahead_.at));
    const ReadResult size = ReadPacket(RestFrom(ahead_.at), pebs, packet, errata_);
    if (!size) return;
    ahead_.kind = std::visit(
        []<class P>(const P&) -> const std::type_info* {
          return kMayIntervene<P> ? nullptr : &typeid(P);
        },
        packet);
    if (ahead_.kind != nullptr) return;
    ahead_.at += *size;
  }
}

// Whether the next packet that tells of the flow is a TNT.
template <FlowSink Sink>
bool FlowEngine<Sink>::FollowedByTnt(const uint8_t* next) {
  if (pebs_.item_bytes == 0 && next < end_ && (*next & 1) == 0 && *next > kExtendedPrefix)
    return true;
  PebsState pebs = pebs_;
  Packet packet;
  while (next < end_) {
    window_.Reach(Offset(next));
    const ReadResult size = ReadPacket(RestFrom(next), pebs, packet, errata_);
    if (!size) return false;
    if (TntCount(packet) != 0) return true;
    if (!std::visit([]<class P>(const P&) { return kIsTiming<P>; }, packet)) return false;
    next += *size;
  }
  return false;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::FollowedByTip() {
  const std::type_info* kind = NextKind();
  return kind != nullptr && (*kind == typeid(Tip) || *kind == typeid(TipPgd));
}

template <FlowSink Sink>
bool FlowEngine<Sink>::FollowedByEnable() {
  const std::type_info* kind = NextKind();
  return kind != nullptr && *kind == typeid(TipPge);
}

// Whether what comes next shows that tracing is off: a TIP.PGE, or a PSB+ without an IP.
template <FlowSink Sink>
bool FlowEngine<Sink>::TracingIsOffNext() {
  PebsState pebs = pebs_;
  Packet packet;
  bool in_header = false;
  for (const uint8_t* at = pos_;;) {
    if (at < end_) window_.Reach(Offset(at));
    const ReadResult size = ReadPacket(RestFrom(at), pebs, packet, errata_);
    if (!size) return false;
    at += *size;
    if (std::holds_alternative<TipPge>(packet)) return true;
    if (in_header && std::holds_alternative<PsbEnd>(packet)) return true;
    in_header |= std::holds_alternative<Psb>(packet);
    const bool may_intervene =
        std::visit([]<class P>(const P&) { return kMayIntervene<P> || kIsOneOf<P, Psb>; }, packet);
    if (!may_intervene) return false;
  }
}

// Asked once for a stream, and only where the answer counts: see tip_order.h.
template <FlowSink Sink>
bool FlowEngine<Sink>::TipsComeAtOnce() {
  if (!tips_come_at_once_) tips_come_at_once_ = ShowsTipsAtOnce(input_, errata_);
  return *tips_come_at_once_;
}

}  // namespace flowback::pt
