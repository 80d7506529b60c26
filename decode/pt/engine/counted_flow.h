// SPDX-License-Identifier: MIT
// Holds the flow against the instructions that the recorder counted (ExecutedCount).
#pragma once

#include <cstdint>

#include "decode/pt/packets/mnt.h"

namespace flowback::pt {

// A value, part of the engine's state. `retired`: how many instructions of the thread have been
// decoded so far, counted from anywhere.
struct CountedFlow {
  // The largest number of instructions that a decoder walks for a count, without packets: a minute
  // of an emulated loop. More instructions count as lost, so that a few damaged bytes cannot keep
  // the decoder busy for ever.
  static constexpr uint64_t kMost = uint64_t{1} << 33;

  bool known = false;    // a count has come since the flow was known
  bool proves = false;   // it named where execution was
  uint64_t count = 0;    // the last one
  uint64_t retired = 0;  // at that

  // How many more instructions than were decoded have executed when `next` comes. Negative: fewer.
  // REQUIRES: known.
  int64_t Missing(const ExecutedCount& next, uint64_t now) const {
    const uint64_t missing = (next.instructions - count - (now - retired)) & ExecutedCount::kMask;
    constexpr uint64_t kHalf = uint64_t{1} << (ExecutedCount::kBits - 1);
    return static_cast<int64_t>(missing) - (missing < kHalf ? 0 : static_cast<int64_t>(2 * kHalf));
  }
  // Whether a count says that exactly the instructions up to here have executed.
  bool ProvesPlaceAt(uint64_t now) const { return known && proves && retired == now; }
};

}  // namespace flowback::pt
