// SPDX-License-Identifier: MIT
// A compile unit's line rows and inlined calls as one sorted table of address ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/symbols/lines/dwarf_file.h"

namespace flowback::symbols {

// A range of addresses, half-open, and what it belongs to.
struct OwnedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t owner = 0;
};

// Cuts ranges that overlap into ranges that don't, sorted. Where several cover a place it belongs
// to the one that starts last; of those that start together, to the one that comes last in
// `ranges`.
std::vector<OwnedRange> Disjoint(std::vector<OwnedRange> ranges);
// The range that holds `address`; null when none does. `ranges` is sorted and disjoint.
const OwnedRange* FindRange(const std::vector<OwnedRange>& ranges, uint64_t address);

// Code of one line in one (possibly inlined) subroutine.
struct LineRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t file = kNone;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t subroutine = kNone;
  bool is_statement = true;
  uint32_t discriminator = 0;
};

// Sorted and disjoint. Code that has neither a line nor a subroutine is left out.
std::vector<LineRange> LineRangesOf(const UnitInfo& unit);

}  // namespace flowback::symbols
