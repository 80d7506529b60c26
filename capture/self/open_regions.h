// SPDX-License-Identifier: MIT
// The regions that a thread is in.
#pragma once

#include <cstdint>

#include "capture/record/watch/region_table.h"

namespace flowback::self {

// Plain, so that a thread has it without anything being made or taken away.
struct OpenRegions {
  static constexpr unsigned kKept = 64;  // deeper ones are entered and left, and not counted

  struct Region {
    const char* name;
    record::RegionEntry* entry;  // null: it is not counted
    uint64_t recording;          // by number: which it is counted in
    uint64_t begin_ns;
  };

  unsigned depth;
  bool recorded;  // the recording was switched on for the outermost
  Region regions[kKept];
};

}  // namespace flowback::self
