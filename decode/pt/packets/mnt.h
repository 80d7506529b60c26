// SPDX-License-Identifier: MIT
// Data for the processor's maker.  [SDM "Maintenance (MNT) Packet"]
#pragma once

#include <optional>

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

// How many instructions a thread has executed. flowback's own recorders write it as an MNT packet,
// which other decoders pass over: nothing else in a trace shows how often the thread went round a
// loop of direct jumps and calls. The mark distinguishes it from the payloads of processors.
struct ExecutedCount {
  static constexpr unsigned kBits = 40;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;

  uint64_t instructions = 0;  // the lowest kBits bits of the number
  // Others count from here. Else the instructions since the count before it executed, though no
  // packet may show them.
  bool begins = false;

  static std::optional<ExecutedCount> Of(const Mnt& packet) {
    if (packet.payload >> (kBits + 1) != kMark) return std::nullopt;
    return ExecutedCount{.instructions = packet.payload & kMask,
                         .begins = (packet.payload >> kBits & 1) != 0};
  }
  Mnt AsPacket() const {
    return {kMark << (kBits + 1) | uint64_t{begins} << kBits | (instructions & kMask)};
  }

 private:
  static constexpr uint64_t kMark = 0x3b1a5c;
};

// The address of the data of the thread's next atomic operation, or of its next futex call: the
// next one that executes behind this packet and that no packet before it is about. flowback's
// recorders write it on request, as an MNT packet for the same reason as above.
struct LockAddress {
  static constexpr unsigned kBits = 47;  // of an address of user memory
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;

  uint64_t address = 0;
  bool futex = false;

  static std::optional<LockAddress> Of(const Mnt& packet) {
    if (packet.payload >> (kBits + 1) != kMark) return std::nullopt;
    return LockAddress{.address = packet.payload & kMask,
                       .futex = (packet.payload >> kBits & 1) != 0};
  }
  Mnt AsPacket() const {
    return {kMark << (kBits + 1) | uint64_t{futex} << kBits | (address & kMask)};
  }
  bool operator==(const LockAddress&) const = default;

 private:
  static constexpr uint64_t kMark = 0xa70c;
};

}  // namespace flowback::pt
