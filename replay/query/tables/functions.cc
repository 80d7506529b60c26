// SPDX-License-Identifier: MIT
// The table functions: the calls of each function added up, as `timeline` does it.
#include <vector>

#include "replay/query/call_sums_columns.h"
#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t { kFunction, kFile, kIp, kSystemCall, kSums };

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"function", Type::kText, "its name; [FILE+0x...] if no symbol names it", LimitKind::kFunction},
    {"file", Type::kText, "the file of its code; NULL: not known"},
    {"ip", Type::kInteger, "address of its entry"},
    {"system_call", Type::kInteger, "1: a system call, whose calls are in the table syscalls"},
    FLOWBACK_CALL_SUMS_COLUMNS,
};

struct Row {
  const TimelineFunction* function = nullptr;
  const CallSums* sums = nullptr;
};

QueryValue Cell(const Row& row, size_t column) {
  switch (column) {
    case kFunction:
      return TextValue(row.function->name);
    case kFile:
      return TextValue(row.function->file);
    case kIp:
      return row.function->entry_ip == 0 ? QueryValue() : NumberValue(row.function->entry_ip);
    case kSystemCall:
      return NumberValue(row.function->is_system_call ? 1 : 0);
    default:
      return CallSumsCell(*row.sums, column - kSums);
  }
}

Result<std::unique_ptr<QueryRows>> OpenFunctions(QuerySource& source, const QueryLimits& limits) {
  Result<const Timeline*> timeline = source.TimelineOfThreads();
  if (!timeline) return Fail(timeline.error());
  std::vector<Row> rows;
  for (size_t i = 0; i < (*timeline)->functions.size(); ++i) {
    const TimelineFunction& function = (*timeline)->functions[i];
    if (limits.function && function.name != *limits.function) continue;
    rows.push_back({&function, &(*timeline)->by_function[i]});
  }
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable functions_table() {
  return {.name = "functions",
          .summary = "the functions and system calls that ran, and the sums of their calls",
          .columns = kColumns,
          .usual_rows = 1000,
          .open = OpenFunctions};
}

}  // namespace flowback
