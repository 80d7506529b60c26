// SPDX-License-Identifier: MIT
// A thread's time in columns of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

class TimeStrip {
 public:
  // Of [begin, end); without columns it does nothing.
  TimeStrip(uint64_t begin, uint64_t end, size_t columns)
      : begin_(begin), length_(end - begin), columns_(columns) {}

  // Times come in order. `function` may be kNoFunction.
  void Add(uint64_t begin, uint64_t end, TimeClass kind, uint32_t function, bool focus);
  std::vector<StripColumn> Take();

 private:
  uint64_t BorderOf(size_t column) const;
  size_t ColumnAt(uint64_t time) const;
  void GoTo(size_t column);
  void Close();

  uint64_t begin_;
  uint64_t length_;
  std::vector<StripColumn> columns_;
  size_t at_ = 0;
  uint64_t at_begin_ = 0;  // the times that lie in column `at_`; none before the first Add
  uint64_t at_end_ = 0;
  // Times in column `at_` by function, and the functions that have one.
  std::vector<uint64_t> functions_;
  std::vector<uint32_t> used_;
};

}  // namespace flowback
