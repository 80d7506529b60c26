// SPDX-License-Identifier: MIT
// Packets that are an opcode and nothing else.  [SDM "PAD Packet", "PSBEND Packet",
// "Overflow (OVF) Packet", "TraceStop Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// Fills space; may stand anywhere, also inside a compound of packets.
struct Pad {
  static constexpr std::string_view kName = "PAD";
  static constexpr Opcode kOpcode{.value = 0x00};

  static ReadResult Parse(Bytes, Pad&) { return 1; }
  void Encode(ByteSink sink) const { sink.Put(kOpcode.value); }
  std::string Text() const { return {}; }
  bool operator==(const Pad&) const = default;
};

// Ends the packets of PSB+.
struct PsbEnd {
  static constexpr std::string_view kName = "PSBEND";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x23};

  static ReadResult Parse(Bytes, PsbEnd&) { return 2; }
  void Encode(ByteSink sink) const { sink.Put(kExtendedPrefix, kOpcode.value); }
  std::string Text() const { return {}; }
  bool operator==(const PsbEnd&) const = default;
};

// The internal buffer overflowed and packets were dropped; also ends a PEBS block.
struct Ovf {
  static constexpr std::string_view kName = "OVF";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0xf3};

  static ReadResult Parse(Bytes, Ovf&, PebsState& pebs) {
    pebs.item_bytes = 0;
    return 2;
  }
  void Encode(ByteSink sink) const { sink.Put(kExtendedPrefix, kOpcode.value); }
  std::string Text() const { return {}; }
  bool operator==(const Ovf&) const = default;
};

// A TraceStop region was entered; packet generation is off until software re-enables it.
struct TraceStop {
  static constexpr std::string_view kName = "TraceStop";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x83};

  static ReadResult Parse(Bytes, TraceStop&) { return 2; }
  void Encode(ByteSink sink) const { sink.Put(kExtendedPrefix, kOpcode.value); }
  std::string Text() const { return {}; }
  bool operator==(const TraceStop&) const = default;
};

}  // namespace flowback::pt
