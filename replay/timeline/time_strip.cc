// SPDX-License-Identifier: MIT
#include "replay/timeline/time_strip.h"

#include <algorithm>
#include <utility>

namespace flowback {

uint64_t TimeStrip::BorderOf(size_t column) const {
  __extension__ using Wide = unsigned __int128;
  return begin_ + static_cast<uint64_t>(Wide{length_} * column / columns_.size());
}

size_t TimeStrip::ColumnAt(uint64_t time) const {
  // Times come in order, most of them in the column of the one before.
  if (time >= at_begin_ && time < at_end_) return at_;
  __extension__ using Wide = unsigned __int128;
  size_t column = static_cast<size_t>(Wide{time - begin_} * columns_.size() / length_);
  column = std::min(column, columns_.size() - 1);
  while (column + 1 < columns_.size() && BorderOf(column + 1) <= time) ++column;
  while (column > 0 && BorderOf(column) > time) --column;
  return column;
}

void TimeStrip::AddAcross(uint64_t begin, uint64_t end, TimeClass kind, uint32_t function,
                          bool focus) {
  for (size_t column = ColumnAt(begin); begin < end; ++column) {
    if (column != at_ || at_end_ == 0) GoTo(column);
    const uint64_t time = std::min(end, at_end_) - begin;
    AddHere(time, kind, function, focus);
    begin += time;
  }
}

void TimeStrip::AddShared(uint64_t begin, uint64_t end, std::span<const FunctionPart> parts) {
  if (columns_.empty() || begin >= end) return;
  for (size_t column = ColumnAt(begin); begin < end; ++column) {
    if (column != at_ || at_end_ == 0) GoTo(column);
    const uint64_t time = std::min(end, at_end_) - begin;
    AddExecuting(time);
    for (const FunctionPart& part : parts)
      AddToFunction(static_cast<uint64_t>(static_cast<double>(time) * part.share + 0.5),
                    part.function);
    begin += time;
  }
}

// The function's first time in the column.
void TimeStrip::AddNew(uint64_t time, uint32_t function) {
  if (function == CallPath::kNoFunction) return;
  if (function >= functions_.size()) functions_.resize(function + size_t{1});
  used_.push_back(function);
  functions_[function] = time;
}

void TimeStrip::GoTo(size_t column) {
  Close();
  at_ = column;
  at_begin_ = BorderOf(column);
  at_end_ = column + 1 == columns_.size() ? ~uint64_t{0} : BorderOf(column + 1);
}

void TimeStrip::Close() {
  StripColumn& column = columns_[at_];
  for (const uint32_t function : used_) {
    const uint64_t time = std::exchange(functions_[function], 0);
    const bool more =
        time > column.function_time || (time == column.function_time && function < column.function);
    if (!more) continue;
    column.function = function;
    column.function_time = time;
  }
  used_.clear();
}

std::vector<StripColumn> TimeStrip::Take() {
  if (!columns_.empty()) Close();
  return std::move(columns_);
}

}  // namespace flowback
