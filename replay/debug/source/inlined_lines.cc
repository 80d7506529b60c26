// SPDX-License-Identifier: MIT
#include "replay/debug/source/inlined_lines.h"

#include <algorithm>

namespace flowback {
namespace {

const SourceFrame& Level(const SourcePlace& place, size_t level) {
  return place.frames[place.frames.size() - level];
}

bool IsSameLine(const SourceFrame& a, const SourceFrame& b) {
  return a.line == b.line && a.file == b.file;
}

// Two calls on one line differ in their columns, if the compiler writes these.
bool IsSameCall(const SourceFrame& a, const SourceFrame& b) {
  const bool other_column = a.column != 0 && b.column != 0 && a.column != b.column;
  return IsSameLine(a, b) && !other_column;
}

}  // namespace

SourcePlace ViewOfLevels(SourcePlace place, size_t levels) {
  if (levels >= place.frames.size()) return place;
  place.frames = place.frames.last(levels);
  place.scope = 0;  // it belongs to the innermost function
  return place;
}

size_t CommonLevels(const SourcePlace& place, const SourcePlace& view) {
  const size_t most = std::min(place.frames.size(), view.frames.size());
  size_t common = 0;
  for (size_t level = 1; level <= most; ++level) {
    if (Level(place, level).function != Level(view, level).function) break;
    common = level;
    if (!IsSameCall(Level(place, level), Level(view, level))) break;
  }
  const bool is_all = common == place.frames.size() && common == view.frames.size();
  const bool is_copy = place.scope != view.scope && place.scope != 0 && view.scope != 0;
  return is_all && is_copy && common > 1 ? common - 1 : common;
}

bool IsOnLine(const SourcePlace& place, const SourcePlace& view) {
  const size_t levels = view.frames.size();
  if (levels == 0 || CommonLevels(place, view) != levels) return false;
  return IsSameLine(Level(place, levels), view.frames.front());
}

}  // namespace flowback
