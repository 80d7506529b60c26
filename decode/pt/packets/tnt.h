// SPDX-License-Identifier: MIT
// Outcomes of conditional branches and of compressed returns.
// [SDM "Taken/Not-taken (TNT) Packet"]
//
// A stop bit of 1 stands above the outcomes; the outcome next to it belongs to the oldest branch.
// So the highest of `count` bits is consumed first.
#pragma once

#include <bit>

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// `bits` as text, oldest first: "T" taken, "N" not taken.
std::string TntText(unsigned count, uint64_t bits);

// One byte: up to six outcomes above the opcode bit.
struct ShortTnt {
  static constexpr std::string_view kName = "TNT";
  // 00 is PAD and 02 the prefix of extended opcodes; from 04 on there is an outcome below the stop.
  static constexpr Opcode kOpcode{.value = 0x00, .mask = 0x01, .at_least = 0x04};
  static constexpr unsigned kMaxCount = 6;

  uint8_t count = 0;  // 1 to 6
  uint64_t bits = 0;  // bit (count - 1) is the oldest branch

  static ReadResult Parse(Bytes at, ShortTnt& out) {
    const unsigned payload = at[0] >> 1;
    out.count = static_cast<uint8_t>(std::bit_width(payload) - 1);
    out.bits = payload ^ (1u << out.count);
    return 1;
  }
  void Encode(ByteSink sink) const {
    sink.Put(static_cast<uint8_t>(((uint64_t{1} << count) | bits) << 1));
  }
  std::string Text() const { return TntText(count, bits); }
  bool operator==(const ShortTnt&) const = default;
};

// Eight bytes: up to 47 outcomes.
struct LongTnt {
  static constexpr std::string_view kName = "TNT";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0xa3};
  static constexpr unsigned kMaxCount = 47;

  uint8_t count = 0;  // 1 to 47
  uint64_t bits = 0;  // bit (count - 1) is the oldest branch

  static ReadResult Parse(Bytes at, LongTnt& out) {
    if (at.size() < 8) return Truncated();
    const uint64_t payload = Load(at, 2, 6);
    if (payload < 2) return Unknown();  // no stop bit, or no outcome below it
    out.count = static_cast<uint8_t>(std::bit_width(payload) - 1);
    out.bits = payload ^ (uint64_t{1} << out.count);
    return 8;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little((uint64_t{1} << count) | bits, 6);
  }
  std::string Text() const { return TntText(count, bits); }
  bool operator==(const LongTnt&) const = default;
};

}  // namespace flowback::pt
