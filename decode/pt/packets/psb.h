// SPDX-License-Identifier: MIT
// The sync point.  [SDM "Packet Stream Boundary (PSB) Packet"]
#pragma once

#include <algorithm>
#include <array>

#include "decode/pt/packets/wire.h"
#include "flowback/base/joined_bytes.h"

namespace flowback::pt {

// A 16-byte pattern that no other sequence of packets contains: where decoding can begin.
struct Psb {
  static constexpr std::string_view kName = "PSB";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x82};
  static constexpr std::array<uint8_t, 16> kPattern = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                                       2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

  static ReadResult Parse(Bytes at, Psb&, PebsState& pebs) {
    const size_t have = std::min(at.size(), kPattern.size());
    if (std::memcmp(at.data(), kPattern.data(), have) != 0) return Unknown();
    if (have < kPattern.size()) return Truncated();
    pebs.item_bytes = 0;
    return kPattern.size();
  }
  void Encode(ByteSink sink) const {
    for (const uint8_t byte : kPattern) sink.Put(byte);
  }
  std::string Text() const { return {}; }
  bool operator==(const Psb&) const = default;
};

// Returns the offset of the first complete PSB pattern at or after `from`; bytes.size(): no pattern
// follows.
size_t FindPsb(Bytes bytes, size_t from);
// The same in the first `end` bytes of a window's; moves it along.
size_t FindPsb(StreamWindow& window, size_t end, size_t from);
// The same in all of them, without holding more than the window does: for a look far ahead.
size_t FindPsbUnheld(const StreamWindow& window, size_t from);

// Where to look for a PSB when the bytes at `offset` can't be right. Damage before them may look
// like a packet that reaches into it; but it begins at or after `least`.
constexpr size_t PsbSearchBegin(size_t offset, size_t least) {
  constexpr size_t kBack = Psb::kPattern.size() - 1;
  return std::max(offset - std::min(offset, kBack), least);
}

}  // namespace flowback::pt
