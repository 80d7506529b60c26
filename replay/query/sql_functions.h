// SPDX-License-Identifier: MIT
// The functions of SQL that a query has beside SQLite's own.
#pragma once

#include <span>
#include <string_view>

#include "flowback/base/error.h"
#include "replay/query/virtual_table.h"

struct sqlite3;

namespace flowback {

struct SqlFunction {
  std::string_view name;
  std::string_view usage;    // "duration(ns)"
  std::string_view meaning;  // for --schema
};
std::span<const SqlFunction> SqlFunctions();

// `context` must outlive the database. Errors: kSystem.
Status AddSqlFunctions(sqlite3& database, QueryContext& context);

}  // namespace flowback
