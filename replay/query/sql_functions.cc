// SPDX-License-Identifier: MIT
#include "replay/query/sql_functions.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/calls/stack_names.h"
#include "replay/query/code_place.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

constexpr SqlFunction kFunctions[] = {
    {"duration", "duration(t)", "a duration as people read it: 1.25 ms"},
    {"stack_at", "stack_at(tid, time)",
     "the calls that the thread was in, from the outermost on, with ';' between"},
    {"source", "source(ip) or source(ip, pid)", "FILE:LINE of an instruction; NULL: not known"},
    {"percentile", "percentile(x, p)",
     "the least x that p of 100 rows do not exceed; p is the same in all rows"},
};

QueryContext& ContextOf(sqlite3_context* context) {
  return *static_cast<QueryContext*>(sqlite3_user_data(context));
}
QuerySource& SourceOf(sqlite3_context* context) { return ContextOf(context).source; }

// Ends the statement with an error of the recording.
void ReturnError(sqlite3_context* context, const Error& error) {
  ContextOf(context).error = error;
  sqlite3_result_error(context, error.message().c_str(), -1);
}

void ReturnText(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

bool IsNumber(sqlite3_value* value) {
  const int type = sqlite3_value_numeric_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void Duration(sqlite3_context* context, int, sqlite3_value** values) {
  if (!IsNumber(values[0])) return sqlite3_result_null(context);
  const double value = std::round(sqlite3_value_double(values[0]));
  const double size = std::min(std::abs(value), 9e18);
  const bool nanoseconds = SourceOf(context).session().clock().has_nanoseconds();
  const std::string words = DurationWords(static_cast<uint64_t>(size), nanoseconds);
  ReturnText(context, value < 0 ? "-" + words : words);
}

void Source(sqlite3_context* context, int count, sqlite3_value** values) {
  if (sqlite3_value_numeric_type(values[0]) != SQLITE_INTEGER) return sqlite3_result_null(context);
  std::optional<int32_t> pid;
  if (count > 1 && sqlite3_value_type(values[1]) != SQLITE_NULL) {
    const sqlite3_int64 number = sqlite3_value_int64(values[1]);
    if (sqlite3_value_numeric_type(values[1]) != SQLITE_INTEGER || !std::in_range<int32_t>(number))
      return sqlite3_result_null(context);
    pid = static_cast<int32_t>(number);
  }
  Session& session = SourceOf(context).session();
  const std::string place =
      SourceTextOf(session, static_cast<uint64_t>(sqlite3_value_int64(values[0])), pid);
  if (place.empty()) return sqlite3_result_null(context);
  ReturnText(context, place);
}

std::string StackText(Session& session, const ThreadStack& stack) {
  StackNames names(session.symbols(), session.lines(),
                   [&](const std::string& file) { return session.RecordedPath(file); });
  std::string text;
  for (const StackFrame& frame : stack.frames)
    for (const NamedFrame& named : names.Of(frame)) {
      const std::string name(named.function.empty() ? "[unknown]" : named.function);
      text = text.empty() ? name : name + ";" + text;
    }
  return text;
}

void StackAt(sqlite3_context* context, int, sqlite3_value** values) {
  if (!IsNumber(values[0]) || !IsNumber(values[1])) return sqlite3_result_null(context);
  QuerySource& source = SourceOf(context);
  const Status whole = source.CheckWholeFlow("calls");
  if (!whole) return ReturnError(context, whole.error());
  const Result<FlowIndex*> index = source.Index();
  if (!index) return ReturnError(context, index.error());
  const sqlite3_int64 tid = sqlite3_value_int64(values[0]);
  const auto time =
      static_cast<uint64_t>(std::max<sqlite3_int64>(0, sqlite3_value_int64(values[1])));
  for (const QueriedThread& thread : source.threads()) {
    if (thread.owner->tid != tid) continue;
    const std::optional<ThreadStack> stack = source.StackAt(thread, time);
    if (stack && stack->reached && stack->outside != ThreadStack::Outside::kNotBegun)
      return ReturnText(context, StackText(source.session(), *stack));
  }
  sqlite3_result_null(context);
}

// The numbers of the rows so far.
struct Collected {
  std::vector<long double> numbers;  // hold each int64_t
  double percent = 0;
  bool all_whole = true;  // integers
};

// SQLite gives zeroed memory of that size and knows no C++ objects, so the memory has a pointer.
Collected** CollectedOf(sqlite3_context* context, int size) {
  return static_cast<Collected**>(sqlite3_aggregate_context(context, size));
}

void AddToPercentile(sqlite3_context* context, int, sqlite3_value** values) {
  Collected** const kept = CollectedOf(context, sizeof(Collected*));
  if (kept == nullptr) return sqlite3_result_error_nomem(context);
  if (*kept == nullptr) *kept = new (std::nothrow) Collected;
  if (*kept == nullptr) return sqlite3_result_error_nomem(context);
  if (!IsNumber(values[1]) || sqlite3_value_double(values[1]) < 0 ||
      sqlite3_value_double(values[1]) > 100)
    return sqlite3_result_error(context, "percentile(x, p): p is not a number from 0 to 100", -1);
  if (!IsNumber(values[0])) return;
  (*kept)->percent = sqlite3_value_double(values[1]);
  const bool is_whole = sqlite3_value_numeric_type(values[0]) == SQLITE_INTEGER;
  (*kept)->all_whole &= is_whole;
  if (is_whole)
    (*kept)->numbers.push_back(static_cast<long double>(sqlite3_value_int64(values[0])));
  else
    (*kept)->numbers.push_back(sqlite3_value_double(values[0]));
}

void FinishPercentile(sqlite3_context* context) {
  Collected** const kept = CollectedOf(context, 0);
  if (kept == nullptr || *kept == nullptr) return sqlite3_result_null(context);
  const std::unique_ptr<Collected> all(*kept);
  std::vector<long double>& numbers = all->numbers;
  if (numbers.empty()) return sqlite3_result_null(context);
  const double rank = std::ceil(all->percent / 100 * static_cast<double>(numbers.size()));
  const size_t at = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  std::ranges::nth_element(numbers, numbers.begin() + static_cast<ptrdiff_t>(at));
  if (all->all_whole) return sqlite3_result_int64(context, static_cast<sqlite3_int64>(numbers[at]));
  sqlite3_result_double(context, static_cast<double>(numbers[at]));
}

}  // namespace

std::span<const SqlFunction> SqlFunctions() { return kFunctions; }

Status AddSqlFunctions(sqlite3& database, QueryContext& context) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const auto add = [&](const char* name, int count, auto* function) {
    return sqlite3_create_function_v2(&database, name, count, kFlags, &context, function, nullptr,
                                      nullptr, nullptr) == SQLITE_OK;
  };
  const bool added =
      add("duration", 1, Duration) && add("source", 1, Source) && add("source", 2, Source) &&
      add("stack_at", 2, StackAt) &&
      sqlite3_create_function_v2(&database, "percentile", 2, kFlags, &context, nullptr,
                                 AddToPercentile, FinishPercentile, nullptr) == SQLITE_OK;
  if (added) return {};
  return Fail(ErrorCode::kSystem, std::string("SQLite: ") + sqlite3_errmsg(&database));
}

}  // namespace flowback
