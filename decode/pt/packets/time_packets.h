// SPDX-License-Identifier: MIT
// Clocks.  [SDM "Timestamp Counter (TSC) Packet", "Time-stamp/Core Timer Alignment (TMA) Packet",
// "Mini Time Counter (MTC) Packet", "Cycle Count (CYC) Packet", "Core:Bus Ratio (CBR) Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// The low 56 bits of the time-stamp counter.
struct Tsc {
  static constexpr std::string_view kName = "TSC";
  static constexpr Opcode kOpcode{.value = 0x19};

  uint64_t tsc = 0;

  static ReadResult Parse(Bytes at, Tsc& out) {
    if (at.size() < 8) return Truncated();
    out.tsc = Load(at, 1, 7);
    return 8;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kOpcode.value);
    sink.Little(tsc, 7);
  }
  std::string Text() const { return Hex(tsc); }
  bool operator==(const Tsc&) const = default;
};

// Ties the crystal clock to the TSC packet before it.
struct Tma {
  static constexpr std::string_view kName = "TMA";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x73};
  static constexpr uint16_t kFastMask = 0x1ff;

  uint16_t ctc = 0;   // low bits of the crystal clock count
  uint16_t fast = 0;  // 9 bits: fast counter, TSC ticks since the crystal clock's last tick

  static ReadResult Parse(Bytes at, Tma& out) {
    if (at.size() < 7) return Truncated();
    const uint64_t fast = Load(at, 5, 2);
    // The byte between the two counters and the bits above the fast counter are always 0: anything
    // else is no TMA, and time must not be built on it.
    if (at[4] != 0 || fast > kFastMask) return Unknown();
    out = {.ctc = static_cast<uint16_t>(Load(at, 2, 2)), .fast = static_cast<uint16_t>(fast)};
    return 7;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little(ctc, 3);
    sink.Little(fast & kFastMask, 2);
  }
  std::string Text() const { return "CTC " + Hex(ctc) + ", fast counter " + Hex(fast); }
  bool operator==(const Tma&) const = default;
};

// Eight bits of the crystal clock count, at every change of them.
struct Mtc {
  static constexpr std::string_view kName = "MTC";
  static constexpr Opcode kOpcode{.value = 0x59};

  uint8_t ctc = 0;

  static ReadResult Parse(Bytes at, Mtc& out) {
    if (at.size() < 2) return Truncated();
    out.ctc = at[1];
    return 2;
  }
  void Encode(ByteSink sink) const { sink.Put(kOpcode.value, ctc); }
  std::string Text() const { return Hex(ctc); }
  bool operator==(const Mtc&) const = default;
};

// Core clock cycles since the CYC packet before. The first byte holds five bits above an extension
// bit and the opcode, each further one seven bits above an extension bit.
struct Cyc {
  static constexpr std::string_view kName = "CYC";
  static constexpr Opcode kOpcode{.value = 0x03, .mask = 0x03};
  // Nine bytes hold 61 bits, more cycles than a machine runs; a longer one is damage.
  static constexpr unsigned kMaxSize = 9;
  static constexpr uint64_t kMaxCycles = (uint64_t{1} << 61) - 1;

  uint64_t cycles = 0;

  static ReadResult Parse(Bytes at, Cyc& out) {
    out.cycles = at[0] >> 3;
    if ((at[0] & 4) == 0) return 1;
    for (unsigned size = 1; size < kMaxSize; ++size) {
      if (size == at.size()) return Truncated();
      out.cycles |= uint64_t{static_cast<uint8_t>(at[size] >> 1)} << (7 * size - 2);
      if ((at[size] & 1) == 0) return size + 1;
    }
    return Unknown();
  }
  void Encode(ByteSink sink) const {
    uint64_t rest = cycles >> 5;
    sink.Put(static_cast<uint8_t>(cycles << 3 | (rest != 0) << 2 | kOpcode.value));
    while (rest != 0) {
      const uint8_t low = static_cast<uint8_t>(rest << 1);
      rest >>= 7;
      sink.Put(static_cast<uint8_t>(low | (rest != 0)));
    }
  }
  std::string Text() const { return std::to_string(cycles); }
  bool operator==(const Cyc&) const = default;
};

// The core clock's multiple of the bus clock.
struct Cbr {
  static constexpr std::string_view kName = "CBR";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x03};

  uint8_t ratio = 0;

  static ReadResult Parse(Bytes at, Cbr& out) {
    if (at.size() < 4) return Truncated();
    out.ratio = at[2];
    return 4;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little(ratio, 2);
  }
  std::string Text() const { return std::to_string(ratio); }
  bool operator==(const Cbr&) const = default;
};

}  // namespace flowback::pt
