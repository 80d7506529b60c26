// SPDX-License-Identifier: MIT
#include "cli/query/schema_text.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "replay/query/sql_functions.h"
#include "replay/query/table.h"
#include "replay/query/virtual_table.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kTimes =
    "Times are values of the recording's clock, as --json of the other commands prints them: "
    "nanoseconds of perf's clock, or ticks of the trace's counter if the recording does not relate "
    "it to perf's clock. Durations are in the same unit. NULL: not known.";
constexpr std::string_view kAddresses =
    "Addresses are integers with a sign: printf('%x', ip) prints them as other commands do.";
constexpr std::string_view kColumnLimits =
    "Comparisons with columns that have a * limit the scan: times and threads limit what is "
    "decoded, "
    "functions the rows that are made.";

bool Limits(const QueryColumn& column) { return column.limit != LimitKind::kNone; }

std::string Text() {
  std::string text;
  for (const QueryTable& table : QueryTables()) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n", table.name, table.summary);
    for (const QueryColumn& column : table.columns)
      fmt::format_to(std::back_inserter(text), "  {:<18}{} {:<8} {}\n", column.name,
                     Limits(column) ? '*' : ' ', TypeWord(column.type), column.meaning);
    text += '\n';
  }
  text += "functions of SQL, beside SQLite's own:\n";
  for (const SqlFunction& function : SqlFunctions())
    fmt::format_to(std::back_inserter(text), "  {:<30} {}\n", function.usage, function.meaning);
  for (const std::string_view line : {kTimes, kAddresses, kColumnLimits})
    fmt::format_to(std::back_inserter(text), "\n{}\n", line);
  return text;
}

// Appends {...} of the items, with commas between.
template <class Items, class Fill>
std::string ArrayOf(const Items& items, Fill fill) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    JsonLine line(text);
    fill(item, line);
    line.End();
    text.pop_back();
  }
  return text + "]";
}

std::string ColumnsJson(const QueryTable& table) {
  return ArrayOf(table.columns, [](const QueryColumn& column, JsonLine& line) {
    line.Text("name", column.name).Text("type", TypeWord(column.type));
    line.Text("meaning", column.meaning).Bool("limits", Limits(column));
  });
}

std::string Json() {
  std::string text;
  JsonLine line(text);
  line.Text("schema", "flowback.query.schema/1");
  line.Raw("tables", ArrayOf(QueryTables(), [](const QueryTable& table, JsonLine& object) {
             object.Text("name", table.name).Text("summary", table.summary);
             object.Raw("columns", ColumnsJson(table));
           }));
  line.Raw("functions", ArrayOf(SqlFunctions(), [](const SqlFunction& each, JsonLine& object) {
             object.Text("name", each.name).Text("usage", each.usage);
             object.Text("meaning", each.meaning);
           }));
  line.End();
  return text;
}

}  // namespace

std::string SchemaText(bool json) { return json ? Json() : Text(); }

}  // namespace flowback::cli
