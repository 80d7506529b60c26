// SPDX-License-Identifier: MIT
// How a decoder came through the packets: by heart, or, for which reasons, step by step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace flowback {

enum class SlowPacket : uint8_t {
#define FLOWBACK_SLOW_PACKET(name, key, text) name,
#include "decode/slow_packets.def"
#undef FLOWBACK_SLOW_PACKET
};
constexpr size_t kSlowPackets = 0
#define FLOWBACK_SLOW_PACKET(name, key, text) +1
#include "decode/slow_packets.def"
#undef FLOWBACK_SLOW_PACKET
    ;

// In packets, without what a loss skips, and without padding, MTC and CYC, which always cost the
// same. How much is known by heart depends on what was decoded before, on which thread: not a
// property of the recording.
struct DecodeStatistics {
  uint64_t fast = 0;
  std::array<uint64_t, kSlowPackets> slow{};

  uint64_t& Of(SlowPacket reason) { return slow[static_cast<size_t>(reason)]; }
  uint64_t Of(SlowPacket reason) const { return slow[static_cast<size_t>(reason)]; }
  uint64_t All() const {
    uint64_t all = fast;
    for (const uint64_t count : slow) all += count;
    return all;
  }
  void Append(const DecodeStatistics& next) {
    fast += next.fast;
    for (size_t i = 0; i < slow.size(); ++i) slow[i] += next.slow[i];
  }
};

// For JSON, and in words.
const char* Key(SlowPacket reason);
const char* Words(SlowPacket reason);

}  // namespace flowback
