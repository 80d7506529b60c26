// SPDX-License-Identifier: MIT
// Every packet kind with its fields at their extremes.
#pragma once

#include <vector>

#include "decode/pt/packets/packet.h"

namespace flowback::pt {

// At least one of each kind in the packet list.
std::vector<Packet> PacketSamples();

// The block state in which the packet's bytes mean the packet: inside a block for BIP.
PebsState StateFor(const Packet& packet);

inline std::vector<uint8_t> BytesOf(const Packet& packet) {
  std::vector<uint8_t> bytes;
  Encode(packet, bytes);
  return bytes;
}

}  // namespace flowback::pt
