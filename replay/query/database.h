// SPDX-License-Identifier: MIT
// A recording as a database that SQL asks.
//
//   auto database = QueryDatabase::Open(source);
//   auto query = (*database)->Prepare("SELECT name, count(*) FROM syscalls GROUP BY name", 0);
//   while (*(*query)->Next()) Use((*query)->At(0));
//
// The database lies in memory, and reads no file but the recording's. Statements may make views and
// tables there. SQLite keeps large sorts in files that have no name.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "replay/query/query_source.h"
#include "replay/query/table.h"

struct sqlite3;
struct sqlite3_stmt;

namespace flowback {

// A statement that runs. Belongs to the thread of its database, which must outlive it.
class Query {
 public:
  Query(sqlite3& database, sqlite3_stmt* statement, std::optional<Error>& table_error);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  // Statements such as CREATE VIEW have none.
  size_t column_count() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  // False: there is no further row. Errors: kUsage if SQLite refuses; those of the tables.
  Result<bool> Next();
  // REQUIRES: Next returned true. Valid until it is called again. Blobs are given as text.
  QueryValue At(size_t column) const;

 private:
  sqlite3& database_;
  sqlite3_stmt* const statement_;
  std::optional<Error>& table_error_;
  std::vector<std::string> names_;
};

class QueryDatabase {
 public:
  // `source` must outlive it. Errors: kSystem.
  static Result<std::unique_ptr<QueryDatabase>> Open(QuerySource& source);
  QueryDatabase(const QueryDatabase&) = delete;
  QueryDatabase& operator=(const QueryDatabase&) = delete;
  ~QueryDatabase();

  // Prepares the first statement of `sql` from `at` on, which becomes the place behind it. Null: no
  // statement follows. Errors: kUsage, with the byte of `sql` as its offset where SQLite tells it.
  Result<std::unique_ptr<Query>> Prepare(const std::string& sql, size_t& at);
  // Whether the text ends with a complete statement.
  static bool IsComplete(const std::string& sql);
  // Words that may stand in a statement: keywords, tables, columns and functions.
  static std::vector<std::string> Words();
  // Asks `stop` now and then while statements run: true ends the one that runs with an error.
  void StopWhen(std::function<bool()> stop);

 private:
  class Impl;
  explicit QueryDatabase(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
