// SPDX-License-Identifier: MIT
// Groups of packet kinds by where they may stand.
#pragma once

#include <type_traits>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "flowback/base/joined_bytes.h"

namespace flowback::pt {

template <class P, class... Kinds>
inline constexpr bool kIsOneOf = (std::is_same_v<P, Kinds> || ...);

// Packets with the time, or without meaning, which may stand anywhere.
template <class P>
inline constexpr bool kIsTiming = kIsOneOf<P, Pad, Tsc, Tma, Mtc, Cyc, Cbr, Mnt>;

// May also stand between the parts of a compound: FUP ... TIP, OVF ... TIP.PGE.
// [SDM "Compound Packet Events"]
template <class P>
inline constexpr bool kMayIntervene = kIsTiming<P> || kIsOneOf<P, Pip, Vmcs, ModeExec, ModeTsx>;

// Say nothing about which instructions execute.
template <class P>
inline constexpr bool kIsStatus = kMayIntervene<P> || kIsOneOf<P, Pwre, Pwrx, ExStop, TraceStop>;

// Returns the number of branches in a TNT packet; 0: it is another kind.
inline unsigned TntCount(const Packet& packet) {
  if (const auto* tnt = std::get_if<ShortTnt>(&packet)) return tnt->count;
  if (const auto* tnt = std::get_if<LongTnt>(&packet)) return tnt->count;
  return 0;
}

// As many branches as a TNT packet can hold.
constexpr bool IsFullTnt(unsigned count) {
  return count == ShortTnt::kMaxCount || count == LongTnt::kMaxCount;
}

// Whether the bytes [begin, end) are whole packets that say nothing about the flow: what a
// processor may write before the first PSB of a trace. Moves the window along.
inline bool IsStatusOnly(StreamWindow& window, size_t begin, size_t end) {
  Packet packet;
  PebsState pebs;
  while (begin < end) {
    window.MoveTo(begin);
    const ReadResult size = ReadPacket(window.bytes().subspan(begin, end - begin), pebs, packet);
    if (!size) return false;
    if (!std::visit([]<class P>(const P&) { return kIsStatus<P>; }, packet)) return false;
    begin += *size;
  }
  return true;
}

}  // namespace flowback::pt
