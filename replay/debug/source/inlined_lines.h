// SPDX-License-Identifier: MIT
// Source lines as one of several functions has them that are inlined into one another.
//
//   12  static int inner(int x) { return x * 3; }    An instruction of line 12 is also one of line
//   20, 20    total += inner(4);                         as main sees it: main calls inner there.
//
// A line's view has the frames from that function outward. It has one level for each frame.
#pragma once

#include <cstddef>

#include "flowback/replay/source_lines.h"

namespace flowback {

// Returns the place as its `levels` outermost functions see it. REQUIRES: it has as many.
SourcePlace ViewOfLevels(SourcePlace place, size_t levels);

// Returns how many functions of the view, from the outermost, the place is still in: the same
// copies of them, as far as the places tell copies apart.
size_t CommonLevels(const SourcePlace& place, const SourcePlace& view);

// Returns whether the innermost function of the view is at the view's line there, or calls an
// inlined function from that line.
bool IsOnLine(const SourcePlace& place, const SourcePlace& view);

}  // namespace flowback
