// SPDX-License-Identifier: MIT
// The operand of a PTWRITE instruction.  [SDM "PTWRITE (PTW) Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

struct Ptw {
  static constexpr std::string_view kName = "PTW";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x12, .mask = 0x1f};

  uint64_t payload = 0;
  uint8_t bytes = 4;  // 4 or 8
  bool ip = false;    // a FUP with the PTWRITE's address follows

  static ReadResult Parse(Bytes at, Ptw& out) {
    const unsigned code = (at[1] >> 5) & 3;
    if (code > 1) return Unknown();
    const unsigned width = code == 0 ? 4 : 8;
    if (at.size() < 2 + width) return Truncated();
    out = {.payload = Load(at, 2, width),
           .bytes = static_cast<uint8_t>(width),
           .ip = (at[1] & 0x80) != 0};
    return 2 + width;
  }
  void Encode(ByteSink sink) const {
    const unsigned code = bytes == 8 ? 1 : 0;
    sink.Put(kExtendedPrefix, static_cast<uint8_t>(kOpcode.value | code << 5 | ip << 7));
    sink.Little(payload, bytes);
  }
  std::string Text() const { return Hex(payload) + (ip ? ", IP" : ""); }
  bool operator==(const Ptw&) const = default;
};

}  // namespace flowback::pt
