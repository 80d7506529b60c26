// SPDX-License-Identifier: MIT
// A table of a recording, which SQL reads row by row.
//
// Rows are made when they are asked for. What a query demands of a time, a thread or a function
// reaches the table as Limits, so that it decodes no more than it must:
//
//   SELECT ... FROM calls WHERE begin BETWEEN a AND b AND tid = 7
//        SQLite --> Limits {begin: [a, b], tid: 7} --> shares of thread 7 in [a, b]
//
// A table may return rows outside of the limits: SQLite checks each row again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/recording_clock.h"

namespace flowback {

class QuerySource;  // replay/query/query_source.h

// Monostate is SQL's NULL: not known. Text is valid until the next row.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string_view>;

// A number of the recording. SQL's integers have a sign, so addresses of the kernel are negative.
inline QueryValue NumberValue(uint64_t number) { return static_cast<int64_t>(number); }
// NULL if the text is empty.
inline QueryValue TextValue(std::string_view text) {
  return text.empty() ? QueryValue() : QueryValue(text);
}

// Which limit a comparison with a column sets.
enum class LimitKind : uint8_t { kNone, kTid, kFunction, kBegin, kEnd, kMoment };

struct QueryColumn {
  enum class Type : uint8_t { kInteger, kReal, kText };
  std::string_view name;
  Type type = Type::kInteger;
  std::string_view meaning;  // for --schema
  LimitKind limit = LimitKind::kNone;
};

// What a query demands of the rows of one scan.
struct QueryLimits {
  TimeSpan begin;  // of when the row begins: a value of the recording's clock
  TimeSpan end;    // of when it ends
  std::optional<int64_t> tid;
  std::optional<std::string> function;
  bool none = false;         // no row can fit
  uint64_t columns = ~0ULL;  // those that the query reads, one bit each

  bool Reads(size_t column) const { return (columns >> column & 1) != 0; }
  bool FitsThread(int64_t number) const { return !tid || *tid == number; }
};

// One scan of a table.
class QueryRows {
 public:
  virtual ~QueryRows() = default;
  // Goes to the next row, at first to the first one. False: no row is left. Errors: those of
  // decoding, and why this recording cannot have such rows.
  virtual Result<bool> Next() = 0;
  // REQUIRES: Next returned true.
  virtual QueryValue At(size_t column) const = 0;
};

struct QueryTable {
  std::string_view name;
  std::string_view summary;
  std::span<const QueryColumn> columns;
  // About how many rows a large recording has, to order the tables of a join.
  double usual_rows = 1000;
  // Errors: kUnsupported if the recording cannot fill the table, with the reason.
  Result<std::unique_ptr<QueryRows>> (*open)(QuerySource& source, const QueryLimits& limits);
};

// All tables, in the order of tables.def.
const std::vector<QueryTable>& QueryTables();

#define FLOWBACK_QUERY_TABLE(name) QueryTable name##_table();
#include "replay/query/tables.def"
#undef FLOWBACK_QUERY_TABLE

}  // namespace flowback
