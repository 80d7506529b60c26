// SPDX-License-Identifier: MIT
#include "replay/query/read_only.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>

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

bool ReachesFiles(const char* function) {
  if (function == nullptr) return true;
  const std::string_view name = function;
  return name == "load_extension" || name == "readfile" || name == "writefile" || name == "edit";
}

int Authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return SQLITE_DENY;
    case SQLITE_PRAGMA:
      return IsHarmless(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return ReachesFiles(second) ? SQLITE_DENY : SQLITE_OK;
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
