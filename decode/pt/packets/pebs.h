// SPDX-License-Identifier: MIT
// Event-based samples written into the trace.  [SDM "Block Begin Packet (BBP)", "Block Item Packet
// (BIP)", "Block End Packet (BEP)"]
//
// A record is a BBP, its BIPs, perhaps further BBPs with theirs, and one BEP. BIP's first byte is
// also a valid short TNT, so reading needs to know whether a block is open: PebsState.
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

struct Bbp {
  static constexpr std::string_view kName = "BBP";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x63};

  uint8_t type = 0;        // 5 bits: which registers or facts the items are
  bool four_byte = false;  // the SZ bit: items have 4 bytes, else 8

  static ReadResult Parse(Bytes at, Bbp& out, PebsState& pebs) {
    if (at.size() < 3) return Truncated();
    out = {.type = static_cast<uint8_t>(at[2] & 0x1f), .four_byte = (at[2] & 0x80) != 0};
    pebs.item_bytes = out.four_byte ? 4 : 8;
    return 3;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Put(static_cast<uint8_t>((type & 0x1f) | four_byte << 7));
  }
  std::string Text() const;
  bool operator==(const Bbp&) const = default;
};

struct Bip {
  static constexpr std::string_view kName = "BIP";
  static constexpr Opcode kOpcode{.page = Page::kBlock, .value = 0x04, .mask = 0x07};

  uint8_t id = 0;  // 5 bits: which item of the block's type
  uint64_t payload = 0;
  uint8_t bytes = 8;  // 4 or 8, as the block says

  static ReadResult Parse(Bytes at, Bip& out, PebsState& pebs) {
    const unsigned width = pebs.item_bytes;
    if (at.size() < 1 + width) return Truncated();
    out = {.id = static_cast<uint8_t>(at[0] >> 3),
           .payload = Load(at, 1, width),
           .bytes = static_cast<uint8_t>(width)};
    return 1 + width;
  }
  void Encode(ByteSink sink) const {
    sink.Put(static_cast<uint8_t>(id << 3 | kOpcode.value));
    sink.Little(payload, bytes);
  }
  std::string Text() const { return "item " + std::to_string(id) + ", " + Hex(payload); }
  bool operator==(const Bip&) const = default;
};

struct Bep {
  static constexpr std::string_view kName = "BEP";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x33, .mask = 0x7f};

  bool ip = false;  // a FUP follows

  static ReadResult Parse(Bytes at, Bep& out, PebsState& pebs) {
    out.ip = (at[1] & 0x80) != 0;
    pebs.item_bytes = 0;
    return 2;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, static_cast<uint8_t>(kOpcode.value | ip << 7));
  }
  std::string Text() const { return ip ? "IP" : ""; }
  bool operator==(const Bep&) const = default;
};

}  // namespace flowback::pt
