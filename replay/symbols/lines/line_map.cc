// SPDX-License-Identifier: MIT
// Rows and subroutines cut the code independently of each other. Each is made disjoint; then one
// walk over both in order of address yields the line_ranges in which neither changes.
#include "replay/symbols/lines/line_map.h"

#include <algorithm>

namespace flowback::symbols {

std::vector<OwnedRange> Disjoint(std::vector<OwnedRange> ranges) {
  std::erase_if(ranges, [](const OwnedRange& range) { return range.begin >= range.end; });
  std::ranges::stable_sort(ranges, {}, &OwnedRange::begin);
  std::vector<OwnedRange> result;
  std::vector<const OwnedRange*> open;  // those that may still cover what comes, the winner last
  uint64_t place = 0;
  const auto advance = [&](uint64_t to) {
    while (!open.empty() && place < to) {
      const OwnedRange& top = *open.back();
      const uint64_t end = std::min(top.end, to);
      if (end > place) result.push_back({place, end, top.owner});
      place = std::max(place, end);
      if (top.end <= place) open.pop_back();
    }
    place = std::max(place, to);
  };
  for (const OwnedRange& range : ranges) {
    advance(range.begin);
    open.push_back(&range);
  }
  advance(UINT64_MAX);
  return result;
}

const OwnedRange* FindRange(const std::vector<OwnedRange>& ranges, uint64_t address) {
  auto range = std::ranges::upper_bound(ranges, address, {}, &OwnedRange::begin);
  if (range == ranges.begin()) return nullptr;
  --range;
  return address < range->end ? &*range : nullptr;
}

namespace {

std::vector<OwnedRange> RowRanges(const UnitInfo& unit) {
  std::vector<OwnedRange> ranges;
  ranges.reserve(unit.rows.size());
  for (const LineRow& row : unit.rows)
    ranges.push_back({row.begin, row.end, static_cast<uint32_t>(ranges.size())});
  return Disjoint(std::move(ranges));
}

std::vector<OwnedRange> SubroutineRanges(const UnitInfo& unit) {
  std::vector<SubroutineRange> sorted = unit.ranges;
  std::ranges::stable_sort(sorted, {}, &SubroutineRange::depth);
  std::vector<OwnedRange> ranges;
  ranges.reserve(sorted.size());
  for (const SubroutineRange& range : sorted)
    ranges.push_back({range.begin, range.end, range.subroutine});
  return Disjoint(std::move(ranges));
}

}  // namespace

std::vector<LineRange> LineRangesOf(const UnitInfo& unit) {
  const std::vector<OwnedRange> rows = RowRanges(unit);
  const std::vector<OwnedRange> subroutines = SubroutineRanges(unit);
  std::vector<LineRange> line_ranges;
  line_ranges.reserve(rows.size() + subroutines.size());
  auto row = rows.begin();
  auto subroutine = subroutines.begin();
  uint64_t place = 0;
  while (row != rows.end() || subroutine != subroutines.end()) {
    // What covers `place`, and where that ends or the next thing begins.
    uint64_t end = UINT64_MAX;
    LineRange line_range;
    if (row != rows.end()) {
      end = std::min(end, row->begin > place ? row->begin : row->end);
      if (row->begin <= place) {
        const LineRow& source = unit.rows[row->owner];
        line_range.file = source.file;
        line_range.line = source.line;
        line_range.column = source.column;
        line_range.is_statement = source.is_statement;
        line_range.discriminator = source.discriminator;
      }
    }
    if (subroutine != subroutines.end()) {
      end = std::min(end, subroutine->begin > place ? subroutine->begin : subroutine->end);
      if (subroutine->begin <= place) line_range.subroutine = subroutine->owner;
    }
    if (line_range.file != kNone || line_range.subroutine != kNone) {
      line_range.begin = place;
      line_range.end = end;
      line_ranges.push_back(line_range);
    }
    place = end;
    if (row != rows.end() && row->end <= place) ++row;
    if (subroutine != subroutines.end() && subroutine->end <= place) ++subroutine;
  }
  return line_ranges;
}

}  // namespace flowback::symbols
