// SPDX-License-Identifier: MIT
// A thread's time in columns of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

// A function's part of a time.
struct FunctionPart {
  uint32_t function = CallPath::kNoFunction;
  double share = 0;  // 0 to 1
};

class TimeStrip {
 public:
  // Covers [begin, end); without columns it does nothing.
  TimeStrip(uint64_t begin, uint64_t end, size_t columns)
      : begin_(begin), length_(end - begin), columns_(columns) {}

  // Times come in order. `function` may be kNoFunction.
  void Add(uint64_t begin, uint64_t end, TimeClass kind, uint32_t function, bool focus) {
    if (columns_.empty() || begin >= end) return;
    if (begin >= at_begin_ && end <= at_end_)
      AddHere(end - begin, kind, function, focus);
    else
      AddAcross(begin, end, kind, function, focus);
  }
  // Adds executing time that several functions share.
  void AddShared(uint64_t begin, uint64_t end, std::span<const FunctionPart> parts);
  // For times executing that lie one behind the other, from the last one's end up to a time that is
  // not behind this: each to its function, then all of them together.
  uint64_t column_end() const { return columns_.empty() ? ~uint64_t{0} : at_end_; }
  void AddToFunction(uint64_t time, uint32_t function) {
    if (function < functions_.size() && functions_[function] != 0)
      functions_[function] += time;
    else if (time != 0 && !columns_.empty())
      AddNew(time, function);
  }
  void AddExecuting(uint64_t time) {
    if (!columns_.empty()) columns_[at_].times[static_cast<size_t>(TimeClass::kExecuting)] += time;
  }
  std::vector<StripColumn> Take();

 private:
  uint64_t BorderOf(size_t column) const;
  size_t ColumnAt(uint64_t time) const;
  void AddAcross(uint64_t begin, uint64_t end, TimeClass kind, uint32_t function, bool focus);
  // To column `at_`.
  void AddHere(uint64_t time, TimeClass kind, uint32_t function, bool focus) {
    StripColumn& into = columns_[at_];
    into.times[static_cast<size_t>(kind)] += time;
    if (focus) into.focus += time;
    if (kind == TimeClass::kExecuting) AddToFunction(time, function);
  }
  void AddNew(uint64_t time, uint32_t function);
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
