// SPDX-License-Identifier: MIT
// Offers a table of a recording to SQLite.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flowback/base/error.h"
#include "replay/query/query_source.h"
#include "replay/query/table.h"

struct sqlite3;

namespace flowback {

// What the tables of a database share. SQLite passes on the message of an error alone, so the
// error itself is kept here.
struct QueryContext {
  QuerySource& source;
  std::optional<Error> error;  // that ended the scan of a table
};

// `context` must outlive the database. Errors: kSystem.
Status AddVirtualTable(sqlite3& database, const QueryTable& table, QueryContext& context);

// Returns SQL's word for the type: "INTEGER", "REAL", "TEXT".
std::string_view TypeWord(QueryColumn::Type type);

// Returns "CREATE TABLE name(column type, ...)".
std::string SchemaOf(const QueryTable& table);

}  // namespace flowback
