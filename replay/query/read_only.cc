// SPDX-License-Identifier: MIT
#include "replay/query/read_only.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "replay/query/table.h"

namespace flowback {
namespace {

constexpr std::string_view kHarmlessPragmas[] = {
    "collation_list", "compile_options", "database_list", "function_list",
    "index_info",     "index_list",      "module_list",   "pragma_list",
    "table_info",     "table_list",      "table_xinfo"};

bool IsHarmless(const char* pragma) {
  return pragma != nullptr && std::ranges::find(kHarmlessPragmas, std::string_view(pragma)) !=
                                  std::end(kHarmlessPragmas);
}

// Functions that reach files, extensions or the memory of this program.
bool IsOutOfReach(const char* function) {
  if (function == nullptr) return true;
  const std::string_view name = function;
  return name == "load_extension" || name == "fts3_tokenizer" || name == "readfile" ||
         name == "writefile" || name == "edit";
}

// A table or view of such a name would hide the recording's.
bool IsTableOfRecording(const char* name) {
  return name != nullptr && std::ranges::any_of(QueryTables(), [name](const QueryTable& table) {
           return sqlite3_stricmp(std::string(table.name).c_str(), name) == 0;
         });
}

int Authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return SQLITE_DENY;
    case SQLITE_CREATE_VTABLE:
      return SQLITE_DENY;
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
      return IsTableOfRecording(first) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return IsHarmless(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return IsOutOfReach(second) ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_OK;
  }
}

}  // namespace

void RefuseFiles(sqlite3& database) {
  sqlite3_db_config(&database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(&database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_set_authorizer(&database, Authorize, nullptr);
}

}  // namespace flowback
