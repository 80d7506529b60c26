// SPDX-License-Identifier: MIT
// Intel PT packets: reading one at a time from bytes, and what they say in words.
//
// Everything here is stateless but for two things that the format itself demands: PebsState (a BIP
// looks like a TNT) and LastIp (IPs are compressed).
#pragma once

#include <string>
#include <string_view>

#include "decode/pt/packets/last_ip.h"
#include "decode/pt/packets/packet_list.h"

namespace flowback::pt {

// Reads the packet at the start of `at`, ignores the bytes behind it, and never looks past
// at.end(). Returns its size. On an error `out` holds nothing of use and `pebs` is as before.
ReadResult ReadAnyPacket(Bytes at, PebsState& pebs, Packet& out);

// The same, with the packet kinds that make up most of a trace read in place.
inline ReadResult ReadPacket(Bytes at, PebsState& pebs, Packet& out) {
  if (at.empty()) return std::unexpected(ReadError::kEnd);
  if (pebs.item_bytes == 0 && ShortTnt::kOpcode.Matches(at[0]))
    return ShortTnt::Parse(at, out.emplace<ShortTnt>());
  if (Tip::kOpcode.Matches(at[0])) return Tip::Parse(at, out.emplace<Tip>());
  return ReadAnyPacket(at, pebs, out);
}

// The manual's name: "TIP.PGE". Both forms of TNT are "TNT".
std::string_view NameOf(const Packet& packet);

// Returns the payload in words; empty: the packet has no payload. With `last_ip`, IPs are
// decompressed against it and it follows the stream; without, they are printed as the packet has
// them.
std::string Describe(const Packet& packet, LastIp* last_ip = nullptr);

// What Describe does to `last_ip`, without the words.
void Follow(const Packet& packet, LastIp& last_ip);

// Appends the packet's bytes.
void Encode(const Packet& packet, std::vector<uint8_t>& out);

}  // namespace flowback::pt
