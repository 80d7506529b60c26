// SPDX-License-Identifier: MIT
// Text of a listing, and when its lines happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowback::cli {

// A line that has a time. Those without one belong to the line before them.
struct LineMark {
  uint64_t tsc = 0;   // never 0
  size_t offset = 0;  // of the line in the text
};

struct ListingText {
  std::string text;
  std::vector<LineMark> marks;  // by offset
  bool keeps_marks = false;

  // A line begins here. `tsc` 0: it has no time.
  void Mark(uint64_t tsc) {
    if (keeps_marks && tsc != 0) marks.push_back({tsc, text.size()});
  }
  void Append(const ListingText& other) {
    for (const LineMark& mark : other.marks) marks.push_back({mark.tsc, text.size() + mark.offset});
    text += other.text;
  }
  // Takes away what lies from `size` on.
  void CutAt(size_t size) {
    text.resize(size);
    while (!marks.empty() && marks.back().offset >= size) marks.pop_back();
  }
  void Clear() {
    text.clear();
    marks.clear();
  }
};

}  // namespace flowback::cli
