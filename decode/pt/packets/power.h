// SPDX-License-Identifier: MIT
// Power event tracing.  [SDM "EXSTOP Packet", "MWAIT Packet", "Power Entry (PWRE) Packet",
// "Power Exit (PWRX) Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// Software execution stopped: a sleep state or a frequency change.
struct ExStop {
  static constexpr std::string_view kName = "EXSTOP";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x62, .mask = 0x7f};

  bool ip = false;  // a FUP follows

  static ReadResult Parse(Bytes at, ExStop& out) {
    out.ip = (at[1] & 0x80) != 0;
    return 2;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, static_cast<uint8_t>(kOpcode.value | ip << 7));
  }
  std::string Text() const { return ip ? "IP" : ""; }
  bool operator==(const ExStop&) const = default;
};

// An MWAIT, or an I/O read redirected to one, asked for a sleep state.
struct Mwait {
  static constexpr std::string_view kName = "MWAIT";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0xc2};

  uint32_t hints = 0;       // EAX
  uint32_t extensions = 0;  // ECX

  static ReadResult Parse(Bytes at, Mwait& out) {
    if (at.size() < 10) return Truncated();
    out = {.hints = static_cast<uint32_t>(Load(at, 2, 4)),
           .extensions = static_cast<uint32_t>(Load(at, 6, 4))};
    return 10;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little(hints, 4);
    sink.Little(extensions, 4);
  }
  std::string Text() const { return "hints " + Hex(hints) + ", extensions " + Hex(extensions); }
  bool operator==(const Mwait&) const = default;
};

// A sleep state below C0 was entered.
struct Pwre {
  static constexpr std::string_view kName = "PWRE";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x22};

  uint8_t state = 0;      // resolved thread C-state, 4 bits
  uint8_t sub_state = 0;  // resolved thread sub C-state, 4 bits
  bool hardware = false;  // the hardware began it, not software

  static ReadResult Parse(Bytes at, Pwre& out) {
    if (at.size() < 4) return Truncated();
    out = {.state = static_cast<uint8_t>(at[3] >> 4),
           .sub_state = static_cast<uint8_t>(at[3] & 0x0f),
           .hardware = (at[2] & 0x80) != 0};
    return 4;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Put(hardware ? 0x80 : 0, static_cast<uint8_t>(state << 4 | (sub_state & 0x0f)));
  }
  std::string Text() const;
  bool operator==(const Pwre&) const = default;
};

// Back in C0.
struct Pwrx {
  static constexpr std::string_view kName = "PWRX";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0xa2};

  uint8_t last = 0;         // last core C-state, 4 bits
  uint8_t deepest = 0;      // deepest core C-state, 4 bits
  bool interrupt = false;   // woken by an external interrupt
  bool store = false;       // woken by a store to the monitored address
  bool autonomous = false;  // woken by the hardware itself

  static ReadResult Parse(Bytes at, Pwrx& out) {
    if (at.size() < 7) return Truncated();
    out = {.last = static_cast<uint8_t>(at[2] >> 4),
           .deepest = static_cast<uint8_t>(at[2] & 0x0f),
           .interrupt = (at[3] & 1) != 0,
           .store = (at[3] & 4) != 0,
           .autonomous = (at[3] & 8) != 0};
    return 7;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Put(static_cast<uint8_t>(last << 4 | (deepest & 0x0f)));
    sink.Little(interrupt | store << 2 | autonomous << 3, 4);
  }
  std::string Text() const;
  bool operator==(const Pwrx&) const = default;
};

}  // namespace flowback::pt
