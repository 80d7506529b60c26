// SPDX-License-Identifier: MIT
// Packets as the memo of walks takes them: read with as few steps as possible, coded in a word, and
// cut into the outcomes that a path has.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decode/pt/memo/path_key.h"
#include "decode/pt/packets/packet.h"

namespace flowback::pt {

// Two short TNT packets, each as full as it can be.
struct FullPair {
  static constexpr size_t kSize = 2;
  static TntPair Load(const uint8_t* at) {
    uint16_t word;
    std::memcpy(&word, at, sizeof word);
    return TntPair(word);
  }
  static bool Match(TntPair pair) { return (pair.word() & 0x8181) == 0x8080; }
};

constexpr uint8_t TipByte(uint8_t ip_bytes) {
  return static_cast<uint8_t>(ip_bytes << 5 | Tip::kOpcode.value);
}

// A CYC of no more than four bytes.
struct QuickCyc {
  unsigned size = 0;  // 0: it is something else
  uint64_t cycles = 0;

  // REQUIRES: eight bytes.
  [[gnu::always_inline]] static QuickCyc Read(const uint8_t* at) {
    constexpr uint64_t kLastBits = 0x0101'0101'0101'0101 << 8;
    uint64_t raw;
    std::memcpy(&raw, at, sizeof raw);
    const uint64_t first = raw >> 3 & 0x1f;
    if ((raw & 7) == 3) return {1, first};
    if ((raw & 3) != 3) return {};
    // In all but the last of the bytes behind the first, the lowest bit is set.
    const unsigned last = static_cast<unsigned>(std::countr_zero(~raw & kLastBits)) / 8;
    if (last > 3) return {};
    const uint64_t more = (raw >> 9 & 0x7f) | (raw >> 17 & 0x7f) << 7 | (raw >> 25 & 0x7f) << 14;
    const uint64_t known = (uint64_t{1} << 7 * last) - 1;
    return {last + 1, first | (more & known) << 5};
  }
};

// What a step of the loop takes: a TIP packet, a short TNT packet, or one behind the other.
struct QuickPackets {
  static constexpr ptrdiff_t kRoom = 26;  // bytes that must be readable

  TipTnt packets;
  size_t size = 0;       // 0: it is something else
  uint64_t last_ip = 0;  // behind it
  // The CYC between TIP and TNT; it has only the time.
  uint64_t cycles = 0;
  size_t cyc_size = 0;

  // By branches, which the processor foresees: sizes from a table would keep the next step waiting.
  // `over_cyc`: a CYC between TIP and TNT doesn't part them.
  [[gnu::always_inline]] static QuickPackets Read(const uint8_t* at, uint64_t last_ip,
                                                  bool over_cyc) {
    QuickPackets result;
    result.last_ip = last_ip;
    if (const uint8_t tnt = TntAt(at); tnt != 0) {
      result.packets = TipTnt::Tnt(tnt);
      result.size = 1;
      return result;
    }
    uint64_t payload;
    std::memcpy(&payload, at + 1, sizeof payload);
    switch (*at) {
      case TipByte(IpPayload::kUpdate16):
        result.size = 3;
        result.last_ip = (last_ip & ~uint64_t{0xffff}) | (payload & 0xffff);
        break;
      case TipByte(IpPayload::kUpdate32):
        result.size = 5;
        result.last_ip = (last_ip & ~uint64_t{0xffffffff}) | (payload & 0xffffffff);
        break;
      case TipByte(IpPayload::kSignExtend48):
        result.size = 7;
        result.last_ip = static_cast<uint64_t>(static_cast<int64_t>(payload << 16) >> 16);
        break;
      case TipByte(IpPayload::kFull):
        if (!TipTnt::HasWord(payload)) return result;
        result.size = 9;
        result.last_ip = payload;
        break;
      default:
        return result;
    }
    result.packets = TipTnt::Tip(result.last_ip);
    at += result.size;
    if (const uint8_t tnt = TntAt(at); tnt != 0) {
      result.packets = result.packets.With(tnt);
      ++result.size;
    } else if (over_cyc && (*at & 3) == 3) {
      const QuickCyc cyc = QuickCyc::Read(at);
      const uint8_t behind = TntAt(at + cyc.size);
      if (cyc.size != 0 && behind != 0) {
        result.packets = result.packets.With(behind);
        result.cyc_size = cyc.size;
        result.cycles = cyc.cycles;
        result.size += cyc.size + 1;
      }
    }
    return result;
  }
  // Keeps only the TIP of a TIP and a TNT packet.
  void DropTnt() {
    packets = packets.WithoutTnt();
    size -= cyc_size + 1;
    cyc_size = 0;
    cycles = 0;
  }
  // An MTC, or a CYC.
  static bool TellsTime(uint8_t byte) {
    return byte == Mtc::kOpcode.value || Cyc::kOpcode.Matches(byte);
  }
  // The short TNT packet there; 0 when it is another one.
  static uint8_t TntAt(const uint8_t* at) {
    return (*at & 1) == 0 && *at > kExtendedPrefix ? *at : 0;
  }
};

inline bool IsLongTnt(const uint8_t* at) {
  return at[0] == kExtendedPrefix && LongTnt::kOpcode.Matches(at[1]);
}

// The next few of the `left` outcomes in `bits`, in the writing of short TNT packets.
struct OutcomePart {
  static constexpr unsigned kMost = 2 * ShortTnt::kMaxCount;

  uint64_t bits;
  unsigned left;
  unsigned count;  // of the part

  // REQUIRES: no more than one has.
  uint8_t AsShort() const {
    const uint64_t outcomes = bits >> (left - count) & ((uint64_t{1} << count) - 1);
    return static_cast<uint8_t>((uint64_t{1} << count | outcomes) << 1);
  }
  // REQUIRES: more than that.
  [[gnu::always_inline]] TntPair AsPair() const {
    constexpr unsigned kFirst = ShortTnt::kMaxCount;
    if (count == kMost) [[likely]] {  // the same in fewer steps
      constexpr unsigned kMask = (1u << kFirst) - 1;
      const auto all = static_cast<unsigned>(bits >> (left - kMost));
      return TntPair(
          static_cast<uint16_t>(0x8080 | (all >> kFirst & kMask) << 1 | (all & kMask) << 9));
    }
    const OutcomePart first{bits, left, kFirst};
    const OutcomePart second{bits, left - kFirst, count - kFirst};
    return TntPair(static_cast<uint16_t>(first.AsShort() | second.AsShort() << 8));
  }
};

}  // namespace flowback::pt
