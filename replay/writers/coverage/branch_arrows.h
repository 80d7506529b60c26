// SPDX-License-Identifier: MIT
// Arrows beside a listing, from branches to where they lead, as a picture in lanes:
//
//      +--  cmp; jle  --+
//      |    add         |  an arrow takes the innermost lane in which no other one stands
//      |    jmp       --|-+
//      +->  sub       <-+ |
//           ret       <---+
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowback {

struct BranchArrow {
  size_t from = 0;  // rows of the listing
  size_t to = 0;
  uint64_t times = 0;
  bool is_known = true;  // false: trace was lost, and it may have been taken
};

struct ArrowPicture {
  std::string svg;  // its top is the first row's top; empty: nothing to show
  size_t width = 0;
};

inline constexpr size_t kRowPixels = 16;
// Draws each arrow in a lane of its own. If the lanes do not suffice at some place, the longest
// arrows there are left out.
ArrowPicture DrawArrows(std::vector<BranchArrow> arrows, size_t rows);

}  // namespace flowback
