// SPDX-License-Identifier: MIT
// Event trace and trigger trace.  [SDM "Control Flow Event (CFE) Packet", "Event Data (EVD)
// Packet", "Trigger (TRIG) Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// An interrupt, exception, IRET, SMI, VM transition or similar event.
struct Cfe {
  static constexpr std::string_view kName = "CFE";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x13};

  uint8_t type = 0;    // 5 bits
  uint8_t vector = 0;  // of interrupts and exceptions; exit reason of VM exits
  bool ip = false;     // a FUP follows

  static ReadResult Parse(Bytes at, Cfe& out) {
    if (at.size() < 4) return Truncated();
    out = {.type = static_cast<uint8_t>(at[2] & 0x1f), .vector = at[3], .ip = (at[2] & 0x80) != 0};
    return 4;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Put(static_cast<uint8_t>((type & 0x1f) | ip << 7), vector);
  }
  std::string Text() const;
  bool operator==(const Cfe&) const = default;
};

// Data of the control flow event that follows: a page fault's address, a VM exit's qualification.
struct Evd {
  static constexpr std::string_view kName = "EVD";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x53};

  uint8_t type = 0;  // 6 bits
  uint64_t payload = 0;

  static ReadResult Parse(Bytes at, Evd& out) {
    if (at.size() < 11) return Truncated();
    out = {.type = static_cast<uint8_t>(at[2] & 0x3f), .payload = Load(at, 3, 8)};
    return 11;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Put(type & 0x3f);
    sink.Little(payload, 8);
  }
  std::string Text() const;
  bool operator==(const Evd&) const = default;
};

// Debug triggers fired.
struct Trig {
  static constexpr std::string_view kName = "TRIG";
  static constexpr Opcode kOpcode{.value = 0xd9};

  uint8_t triggers = 0;     // TRBV: one bit for each trigger that fired
  bool ip = false;          // a FUP follows
  bool mult = false;        // more triggers fired than the packet names
  bool icnt_valid = false;  // the instruction count is there
  uint16_t icnt = 0;        // instructions since the last branch or other packet with a place

  static ReadResult Parse(Bytes at, Trig& out) {
    if (at.size() < 2) return Truncated();
    const bool counted = (at[1] & 0x40) != 0;
    const unsigned size = counted ? 5 : 3;
    if (at.size() < size) return Truncated();
    out = {.triggers = at[2],
           .ip = (at[1] & 0x80) != 0,
           .mult = (at[1] & 0x20) != 0,
           .icnt_valid = counted,
           .icnt = static_cast<uint16_t>(counted ? Load(at, 3, 2) : 0)};
    return size;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kOpcode.value, static_cast<uint8_t>(ip << 7 | icnt_valid << 6 | mult << 5));
    sink.Put(triggers);
    if (icnt_valid) sink.Little(icnt, 2);
  }
  std::string Text() const;
  bool operator==(const Trig&) const = default;
};

}  // namespace flowback::pt
