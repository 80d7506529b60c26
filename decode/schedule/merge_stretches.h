// SPDX-License-Identifier: MIT
// One order of the stretches of flow that a thread has in several streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

// Flow between two pauses. TSC ticks.
struct Stretch {
  uint64_t offset = 0;
  uint64_t begin_lo = 0;  // it did not begin before
  uint64_t begin_hi = 0;  // nor after
  uint64_t end_lo = 0;    // it did not end before
  bool told = false;      // a packet told the time in the pause before it

  // When it began, as far as that can be guessed without the CPU that the thread was on.
  uint64_t Guess() const { return told ? begin_lo : begin_hi; }
};

// One of the thread's streams.
struct StretchSource {
  uint32_t stream = 0;
  std::vector<Stretch> stretches;  // at least one
  size_t next = 0;                 // that has not found its place yet

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

// All stretches, each source's in its own order. Of n sources and m changes between them it takes
// the time of m * (log n + n / 256) steps. REQUIRES: `next` of all is 0; it is used up.
std::vector<StretchPart> MergeStretches(std::vector<StretchSource>& sources);

}  // namespace flowback
