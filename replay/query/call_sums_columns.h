// SPDX-License-Identifier: MIT
// The columns that functions and call paths have in common.
#pragma once

#include <cstddef>

#include "flowback/replay/timeline.h"
#include "replay/query/table.h"

namespace flowback {

enum CallSumsColumn : size_t {
  kSumCalls,
  kSumPartial,
  kSumSelf,
  kSumExecuting,
  kSumTotal,
  kSumSelfInstructions,
  kSumInstructions,
  kSumMin,
  kSumMedian,
  kSumP99,
  kSumMax,
  kSumColumns
};

#define FLOWBACK_CALL_SUMS_COLUMNS                                                              \
  {"calls", QueryColumn::Type::kInteger, "how often it was called"},                            \
      {"partial", QueryColumn::Type::kInteger, "calls whose begin or end was not seen"},        \
      {"self", QueryColumn::Type::kInteger, "time executing in it"},                            \
      {"executing", QueryColumn::Type::kInteger, "time executing in it and what it called"},    \
      {"total", QueryColumn::Type::kInteger, "the same, also off the CPU, in the kernel, ..."}, \
      {"self_instructions", QueryColumn::Type::kInteger, "that it executed itself"},            \
      {"instructions", QueryColumn::Type::kInteger, "that it and what it called executed"},     \
      {"min", QueryColumn::Type::kInteger, "shortest call seen whole; NULL: there is none"},    \
      {"median", QueryColumn::Type::kInteger, "of the durations of these, to 1/32"},            \
      {"p99", QueryColumn::Type::kInteger, "99 of 100 of these last no longer, to 1/32"},       \
      {"max", QueryColumn::Type::kInteger, "longest call seen whole"}

inline QueryValue CallSumsCell(const CallSums& sums, size_t column) {
  const CallDurations& durations = sums.durations;
  const auto duration = [&](uint64_t value) {
    return durations.count == 0 ? QueryValue() : NumberValue(value);
  };
  switch (column) {
    case kSumCalls:
      return NumberValue(sums.count);
    case kSumPartial:
      return NumberValue(sums.partial);
    case kSumSelf:
      return NumberValue(sums.self.time);
    case kSumExecuting:
      return NumberValue(sums.executing);
    case kSumTotal:
      return NumberValue(sums.total);
    case kSumSelfInstructions:
      return NumberValue(sums.self_instructions);
    case kSumInstructions:
      return NumberValue(sums.instructions);
    case kSumMin:
      return duration(durations.min);
    case kSumMedian:
      return duration(durations.median);
    case kSumP99:
      return duration(durations.p99);
    default:
      return duration(durations.max);
  }
}

}  // namespace flowback
