// SPDX-License-Identifier: MIT
// A thread's time in columns of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
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
  void Close();

  uint64_t begin_;
  uint64_t length_;
  std::vector<StripColumn> columns_;
  size_t at_ = 0;
  std::unordered_map<uint32_t, uint64_t> functions_;  // of column `at_`
};

}  // namespace flowback
