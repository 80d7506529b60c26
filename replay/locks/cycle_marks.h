// SPDX-License-Identifier: MIT
// How many core cycles one thread's flow took up to an instruction, by its marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "flowback/model/execution.h"

namespace flowback {

// From one mark to the next each instruction is taken to have the same share. Without marks, as
// beside losses and while tracing is off, no cycles are counted.
class CycleMarks {
 public:
  // `position`: the number of the thread's instructions up to the mark; not less than the last one.
  void Add(uint64_t position, const CycleMark& mark);
  // Returns the cycles of the thread's first `position` instructions. Beyond the last mark, or
  // where marks are forgotten, the nearest that is known.
  uint64_t UpTo(uint64_t position) const;
  bool any() const { return !sums_.empty(); }
  // Forgets the oldest marks, but for some hundreds.
  void ForgetOld();

 private:
  static constexpr size_t kMost = 1024;
  struct Sum {
    uint64_t position = 0;
    uint64_t cycles = 0;
  };
  std::deque<Sum> sums_;  // by position
};

}  // namespace flowback
