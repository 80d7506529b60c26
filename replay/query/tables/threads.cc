// SPDX-License-Identifier: MIT
// The table threads: each thread's time by class, as in `timeline`.
#include <vector>

#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kComm,
  kBegin,
  kEnd,
  kDuration,
  kExecuting,
  kOffCpu,
  kKernel,
  kLost,
  kFiltered,
  kUndecodable,
  kInstructions,
  kLosses
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: trace of threads that are not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"comm", Type::kText, "its last name; NULL: not known"},
    {"begin", Type::kInteger, "when its life in the trace begins"},
    {"end", Type::kInteger, "when it ends"},
    {"duration", Type::kInteger, "end - begin, which is the sum of the six times"},
    {"executing", Type::kInteger, "time in code that is traced"},
    {"off_cpu", Type::kInteger, "time off the CPU; NULL: not recorded, so it is part of kernel"},
    {"kernel", Type::kInteger, "time in the kernel, where that is not traced"},
    {"lost", Type::kInteger, "time of which the trace is missing"},
    {"filtered", Type::kInteger, "time that the recorder left out on purpose"},
    {"undecodable", Type::kInteger, "time of which the code is missing"},
    {"instructions", Type::kInteger, "that it executed"},
    {"losses", Type::kInteger, "losses in its flow"},
};

struct Row {
  const ThreadTimeline* thread = nullptr;
  std::string_view comm;
};

QueryValue TimeOf(const ThreadTimeline& thread, TimeClass kind) {
  return NumberValue(thread.times[static_cast<size_t>(kind)]);
}

QueryValue Cell(const Row& row, size_t column) {
  const ThreadTimeline& thread = *row.thread;
  switch (column) {
    case kTid:
      return thread.tid < 0 ? QueryValue() : int64_t{thread.tid};
    case kPid:
      return thread.pid < 0 ? QueryValue() : int64_t{thread.pid};
    case kComm:
      return TextValue(row.comm);
    case kBegin:
      return NumberValue(thread.begin);
    case kEnd:
      return NumberValue(thread.end);
    case kDuration:
      return NumberValue(thread.end - thread.begin);
    case kExecuting:
      return TimeOf(thread, TimeClass::kExecuting);
    case kOffCpu:
      return thread.off_cpu_told ? TimeOf(thread, TimeClass::kOffCpu) : QueryValue();
    case kKernel:
      return TimeOf(thread, TimeClass::kKernel);
    case kLost:
      return TimeOf(thread, TimeClass::kLost);
    case kFiltered:
      return TimeOf(thread, TimeClass::kFiltered);
    case kUndecodable:
      return TimeOf(thread, TimeClass::kUndecodable);
    case kInstructions:
      return NumberValue(thread.instructions);
    default:
      return NumberValue(thread.losses);
  }
}

Result<std::unique_ptr<QueryRows>> OpenThreads(QuerySource& source, const QueryLimits& limits) {
  Result<const Timeline*> timeline = source.TimelineOfThreads();
  if (!timeline) return Fail(timeline.error());
  std::vector<Row> rows;
  for (const ThreadTimeline& thread : (*timeline)->threads)
    if (limits.FitsThread(thread.tid)) rows.push_back({&thread, source.CommOf(thread.tid)});
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable threads_table() {
  return {.name = "threads",
          .summary = "the threads, and what the time of each was",
          .columns = kColumns,
          .usual_rows = 50,
          .open = OpenThreads};
}

}  // namespace flowback
