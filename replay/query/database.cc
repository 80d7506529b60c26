// SPDX-License-Identifier: MIT
#include "replay/query/database.h"

#include <sqlite3.h>

#include <string>
#include <utility>

#include "replay/query/read_only.h"
#include "replay/query/sql_functions.h"
#include "replay/query/virtual_table.h"

namespace flowback {

namespace {

constexpr int kLongestValue = 16 << 20;  // bytes of a text or of a statement

}  // namespace

class QueryDatabase::Impl {
 public:
  explicit Impl(QuerySource& source) : context{source, std::nullopt} {}
  ~Impl() { sqlite3_close_v2(database); }

  Status Open() {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
    if (sqlite3_open_v2(":memory:", &database, kFlags, nullptr) != SQLITE_OK)
      return Fail(ErrorCode::kSystem, "SQLite: cannot open a database in memory");
    for (const QueryTable& table : QueryTables())
      if (Status added = AddVirtualTable(*database, table, context); !added) return added;
    if (Status added = AddSqlFunctions(*database, context); !added) return added;
    RefuseFiles(*database);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
    return {};
  }

  sqlite3* database = nullptr;
  QueryContext context;
  std::function<bool()> stop;
};

namespace {

Error SqlError(sqlite3& database) {
  const std::string message = std::string("SQL: ") + sqlite3_errmsg(&database);
  switch (sqlite3_errcode(&database)) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return Error(ErrorCode::kSystem, message)
          .Remedy("large sorts take files without a name: SQLITE_TMPDIR names a folder with room");
    case SQLITE_TOOBIG:
      return Error(ErrorCode::kUsage, message)
          .Remedy("a value or a statement has at most 16 MiB: take a part of it by substr()");
    default:
      return Error(ErrorCode::kUsage, message);
  }
}

}  // namespace

Query::Query(sqlite3& database, sqlite3_stmt* statement, std::optional<Error>& table_error)
    : database_(database), statement_(statement), table_error_(table_error) {
  for (int i = 0; i < sqlite3_column_count(statement); ++i)
    names_.emplace_back(sqlite3_column_name(statement, i));
}

Query::~Query() { sqlite3_finalize(statement_); }

Result<bool> Query::Next() {
  table_error_.reset();
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  if (table_error_) return Fail(*std::exchange(table_error_, std::nullopt));
  return Fail(SqlError(database_));
}

QueryValue Query::At(size_t column) const {
  const int number = static_cast<int>(column);
  switch (sqlite3_column_type(statement_, number)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement_, number)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, number);
    default: {
      const auto* const text = static_cast<const char*>(sqlite3_column_blob(statement_, number));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, number));
      return text == nullptr ? std::string_view("") : std::string_view(text, size);
    }
  }
}

QueryDatabase::QueryDatabase(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueryDatabase::~QueryDatabase() = default;

Result<std::unique_ptr<QueryDatabase>> QueryDatabase::Open(QuerySource& source) {
  auto impl = std::make_unique<Impl>(source);
  if (Status opened = impl->Open(); !opened) return Fail(opened.error());
  return std::unique_ptr<QueryDatabase>(new QueryDatabase(std::move(impl)));
}

Result<std::unique_ptr<Query>> QueryDatabase::Prepare(const std::string& sql, size_t& at) {
  // SQLite takes it for the end of the text.
  if (const size_t nul = sql.find('\0', at); nul != std::string::npos)
    return Fail(Error(ErrorCode::kUsage, "SQL: the text has a NUL byte").At(nul));
  while (at < sql.size()) {
    sqlite3_stmt* statement = nullptr;
    const char* behind = nullptr;
    const int code = sqlite3_prepare_v2(impl_->database, sql.c_str() + at,
                                        static_cast<int>(sql.size() - at + 1), &statement, &behind);
    if (code != SQLITE_OK) {
      Error error = SqlError(*impl_->database);
      const int offset = sqlite3_error_offset(impl_->database);
      if (offset >= 0) error.At(at + static_cast<size_t>(offset));
      return Fail(std::move(error));
    }
    at = static_cast<size_t>(behind - sql.c_str());
    // SQLite makes none for white space and comments.
    if (statement != nullptr)
      return std::make_unique<Query>(*impl_->database, statement, impl_->context.error);
  }
  return nullptr;
}

bool QueryDatabase::IsComplete(const std::string& sql) {
  return sqlite3_complete(sql.c_str()) != 0;
}

std::vector<std::string> QueryDatabase::Words() {
  std::vector<std::string> words;
  for (const QueryTable& table : QueryTables()) {
    words.emplace_back(table.name);
    for (const QueryColumn& column : table.columns) words.emplace_back(column.name);
  }
  for (const SqlFunction& function : SqlFunctions()) words.emplace_back(function.name);
  for (int i = 0; i < sqlite3_keyword_count(); ++i) {
    const char* text = nullptr;
    int size = 0;
    if (sqlite3_keyword_name(i, &text, &size) == SQLITE_OK)
      words.emplace_back(text, static_cast<size_t>(size));
  }
  return words;
}

void QueryDatabase::StopWhen(std::function<bool()> stop) {
  constexpr int kSteps = 10000;  // of SQLite's machine: some microseconds each
  impl_->stop = std::move(stop);
  impl_->context.source.StopWhen(impl_->stop);
  if (impl_->stop == nullptr) return sqlite3_progress_handler(impl_->database, 0, nullptr, nullptr);
  const auto ask = [](void* impl) { return static_cast<Impl*>(impl)->stop() ? 1 : 0; };
  sqlite3_progress_handler(impl_->database, kSteps, ask, impl_.get());
}

}  // namespace flowback
