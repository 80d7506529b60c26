// SPDX-License-Identifier: MIT
// The table call_paths: the calls of each function by its callers, for each thread.
#include <string>
#include <vector>

#include "replay/query/call_sums_columns.h"
#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t { kTid, kId, kParent, kDepth, kFunction, kPath, kSystemCall, kAtLeast, kSums };

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"id", Type::kInteger, "number of the path, in its thread; 0: the thread itself"},
    {"parent", Type::kInteger, "number of the path without the last function; NULL: of id 0"},
    {"depth", Type::kInteger, "functions in the path"},
    {"function", Type::kText, "the last function; NULL: the thread, or paths that were cut",
     LimitKind::kFunction},
    {"path", Type::kText, "the functions from the outermost on, with ';' between"},
    {"system_call", Type::kInteger, "1: the path ends in a system call"},
    {"at_least", Type::kInteger, "1: some calls of the path may be counted with cut paths"},
    FLOWBACK_CALL_SUMS_COLUMNS,
};

struct Row {
  const Timeline* timeline = nullptr;
  const ThreadTimeline* thread = nullptr;
  size_t number = 0;

  const CallPath& path() const { return thread->paths[number]; }
};

std::string PathText(const Row& row) {
  std::string text;
  for (size_t at = row.number; at != 0; at = row.thread->paths[at].parent) {
    const CallPath& path = row.thread->paths[at];
    const std::string name = path.function == CallPath::kNoFunction
                                 ? "[cut]"
                                 : row.timeline->functions[path.function].name;
    text = text.empty() ? name : name + ";" + text;
  }
  return text;
}

bool EndsInSystemCall(const Row& row) {
  const uint32_t function = row.path().function;
  return function != CallPath::kNoFunction && row.timeline->functions[function].is_system_call;
}

class PathRows final : public QueryRows {
 public:
  explicit PathRows(std::vector<Row> rows) : rows_(std::move(rows)) {}

  Result<bool> Next() override {
    at_ = is_begun_ ? at_ + 1 : 0;
    is_begun_ = true;
    return at_ < rows_.size();
  }
  QueryValue At(size_t column) const override {
    const Row& row = rows_[at_];
    const CallPath& path = row.path();
    switch (column) {
      case kTid:
        return row.thread->tid < 0 ? QueryValue() : int64_t{row.thread->tid};
      case kId:
        return NumberValue(row.number);
      case kParent:
        return row.number == 0 ? QueryValue() : NumberValue(path.parent);
      case kDepth:
        return NumberValue(path.depth);
      case kFunction:
        if (path.function == CallPath::kNoFunction) return {};
        return row.timeline->functions[path.function].name;
      case kPath:
        text_ = PathText(row);
        return std::string_view(text_);
      case kSystemCall:
        return NumberValue(EndsInSystemCall(row) ? 1 : 0);
      case kAtLeast:
        return NumberValue(path.at_least ? 1 : 0);
      default:
        return CallSumsCell(path.sums, column - kSums);
    }
  }

 private:
  std::vector<Row> rows_;
  size_t at_ = 0;
  bool is_begun_ = false;
  mutable std::string text_;  // of the row's path
};

bool FitsFunction(const Row& row, const QueryLimits& limits) {
  if (!limits.function) return true;
  const uint32_t function = row.path().function;
  return function != CallPath::kNoFunction &&
         row.timeline->functions[function].name == *limits.function;
}

Result<std::unique_ptr<QueryRows>> OpenPaths(QuerySource& source, const QueryLimits& limits) {
  Result<const Timeline*> timeline = source.TimelineOfThreads();
  if (!timeline) return Fail(timeline.error());
  std::vector<Row> rows;
  for (const ThreadTimeline& thread : (*timeline)->threads) {
    if (!limits.FitsThread(thread.tid)) continue;
    for (size_t i = 0; i < thread.paths.size(); ++i)
      if (const Row row{*timeline, &thread, i}; FitsFunction(row, limits)) rows.push_back(row);
  }
  return std::make_unique<PathRows>(std::move(rows));
}

}  // namespace

QueryTable call_paths_table() {
  return {.name = "call_paths",
          .summary = "each thread's calls by call path, and their sums",
          .columns = kColumns,
          .usual_rows = 1e4,
          .open = OpenPaths};
}

}  // namespace flowback
