// SPDX-License-Identifier: MIT
// Puts the stretches of flow that a thread has in several streams into one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

// The flow between two pauses. Times are TSC ticks.
struct Stretch {
  uint64_t offset = 0;
  uint64_t begin_lo = 0;  // it did not begin before
  uint64_t begin_hi = 0;  // nor after
  uint64_t end_lo = 0;    // it did not end before
  bool told = false;      // a packet had the time in the pause before it

  // When it began, as far as that can be guessed without the CPU that the thread was on.
  uint64_t Guess() const { return told ? begin_lo : begin_hi; }
};

// One of the thread's streams.
struct StretchSource {
  uint32_t stream = 0;
  std::vector<Stretch> stretches;  // at least one
  size_t next = 0;                 // the first one that has not found its place yet

  bool done() const { return next == stretches.size(); }
  const Stretch& head() const { return stretches[next]; }
};

// Stretches [first, end) of a source: a stay.
struct StretchPart {
  size_t source = 0;
  size_t first = 0;
  size_t end = 0;

  bool operator==(const StretchPart&) const = default;
};

// Puts all stretches into one order, in which those of each source keep their own. For n sources
// and m changes between them this takes time in proportion to m * (log n + n / 256). REQUIRES:
// `next` of all sources is 0; afterwards it is behind the last stretch.
std::vector<StretchPart> MergeStretches(std::vector<StretchSource>& sources);

}  // namespace flowback
