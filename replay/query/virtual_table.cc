// SPDX-License-Identifier: MIT
#include "replay/query/virtual_table.h"

#include <sqlite3.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "replay/query/scan_plan.h"

namespace flowback {
namespace {

struct Registered {
  const QueryTable& table;
  QueryContext& context;
};

// SQLite's own part comes first in each, so that a pointer to the one is a pointer to the other.
struct TableHandle : sqlite3_vtab {
  Registered* registered = nullptr;
};
struct CursorHandle : sqlite3_vtab_cursor {
  Registered* registered = nullptr;
  std::unique_ptr<QueryRows> rows;
  bool is_behind_end = true;
  int64_t row_number = 0;
};

CursorHandle& Of(sqlite3_vtab_cursor* cursor) { return *static_cast<CursorHandle*>(cursor); }

int Connect(sqlite3* database, void* registered, int, const char* const*, sqlite3_vtab** made,
            char**) {
  auto* const own = static_cast<Registered*>(registered);
  if (const int code = sqlite3_declare_vtab(database, SchemaOf(own->table).c_str());
      code != SQLITE_OK)
    return code;
  // It reads the recording, and nothing else.
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  auto* const handle = new (std::nothrow) TableHandle();
  if (handle == nullptr) return SQLITE_NOMEM;
  handle->registered = own;
  *made = handle;
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<TableHandle*>(table);
  return SQLITE_OK;
}

int BestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const Registered& own = *static_cast<TableHandle*>(table)->registered;
  return ChoosePlan(own.table, *info) ? SQLITE_OK : SQLITE_NOMEM;
}

int Open(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
  auto* const cursor = new (std::nothrow) CursorHandle();
  if (cursor == nullptr) return SQLITE_NOMEM;
  cursor->registered = static_cast<TableHandle*>(table)->registered;
  *made = cursor;
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete &Of(cursor);
  return SQLITE_OK;
}

int FailWith(CursorHandle& cursor, const Error& error) {
  sqlite3_free(cursor.pVtab->zErrMsg);
  cursor.pVtab->zErrMsg = sqlite3_mprintf("%s", error.message().c_str());
  cursor.registered->context.error = error;
  cursor.is_behind_end = true;
  return SQLITE_ERROR;
}

int Next(sqlite3_vtab_cursor* handle) {
  CursorHandle& cursor = Of(handle);
  Result<bool> next = cursor.rows->Next();
  if (!next) return FailWith(cursor, next.error());
  cursor.is_behind_end = !*next;
  ++cursor.row_number;
  return SQLITE_OK;
}

int Filter(sqlite3_vtab_cursor* handle, int, const char* plan, int count, sqlite3_value** values) {
  CursorHandle& cursor = Of(handle);
  const Registered& own = *cursor.registered;
  const QueryLimits limits =
      LimitsOf(own.table, ScanPlan::FromText(plan), {values, static_cast<size_t>(count)});
  cursor.row_number = 0;
  cursor.rows.reset();
  Result<std::unique_ptr<QueryRows>> rows = own.table.open(own.context.source, limits);
  if (!rows) return FailWith(cursor, rows.error());
  cursor.rows = *std::move(rows);
  return Next(handle);
}

int IsBehindEnd(sqlite3_vtab_cursor* cursor) { return Of(cursor).is_behind_end ? 1 : 0; }

struct ResultWriter {
  sqlite3_context* to = nullptr;

  void operator()(std::monostate) const { sqlite3_result_null(to); }
  void operator()(int64_t value) const { sqlite3_result_int64(to, value); }
  void operator()(double value) const { sqlite3_result_double(to, value); }
  void operator()(std::string_view value) const {
    sqlite3_result_text64(to, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
};

int ReadColumn(sqlite3_vtab_cursor* cursor, sqlite3_context* to, int column) {
  std::visit(ResultWriter{to}, Of(cursor).rows->At(static_cast<size_t>(column)));
  return SQLITE_OK;
}

int ReadRowNumber(sqlite3_vtab_cursor* cursor, sqlite3_int64* number) {
  *number = Of(cursor).row_number;
  return SQLITE_OK;
}

// The table is there in each database without being created, and cannot be written.
constexpr sqlite3_module MakeModule() {
  sqlite3_module module{};
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = IsBehindEnd;
  module.xColumn = ReadColumn;
  module.xRowid = ReadRowNumber;
  return module;
}
constexpr sqlite3_module kModule = MakeModule();

}  // namespace

std::string_view TypeWord(QueryColumn::Type type) {
  switch (type) {
    case QueryColumn::Type::kInteger:
      return "INTEGER";
    case QueryColumn::Type::kReal:
      return "REAL";
    case QueryColumn::Type::kText:
      return "TEXT";
  }
  return "";
}

Status AddVirtualTable(sqlite3& database, const QueryTable& table, QueryContext& context) {
  auto* const registered = new Registered{table, context};
  const int code =
      sqlite3_create_module_v2(&database, std::string(table.name).c_str(), &kModule, registered,
                               [](void* kept) { delete static_cast<Registered*>(kept); });
  if (code == SQLITE_OK) return {};
  return Fail(ErrorCode::kSystem,
              "SQLite: the table " + std::string(table.name) + ": " + sqlite3_errmsg(&database));
}

std::string SchemaOf(const QueryTable& table) {
  std::string text = "CREATE TABLE " + std::string(table.name) + "(";
  for (const QueryColumn& column : table.columns) {
    if (&column != &table.columns.front()) text += ", ";
    text += '"' + std::string(column.name) + "\" " + std::string(TypeWord(column.type));
  }
  return text + ")";
}

}  // namespace flowback
