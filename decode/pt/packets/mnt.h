// SPDX-License-Identifier: MIT
// Data for the processor's maker.  [SDM "Maintenance (MNT) Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

struct Mnt {
  static constexpr std::string_view kName = "MNT";
  static constexpr Opcode kOpcode{.page = Page::kThird, .value = 0x88};

  uint64_t payload = 0;

  static ReadResult Parse(Bytes at, Mnt& out) {
    if (at.size() < 11) return Truncated();
    out.payload = Load(at, 3, 8);
    return 11;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kThirdPrefix);
    sink.Put(kOpcode.value);
    sink.Little(payload, 8);
  }
  std::string Text() const { return Hex(payload); }
  bool operator==(const Mnt&) const = default;
};

}  // namespace flowback::pt
