// SPDX-License-Identifier: MIT
#include <vector>

#include "replay/query/table.h"

namespace flowback {

const std::vector<QueryTable>& QueryTables() {
  static const std::vector<QueryTable> tables = {
#define FLOWBACK_QUERY_TABLE(name) name##_table(),
#include "replay/query/tables.def"
#undef FLOWBACK_QUERY_TABLE
  };
  return tables;
}

}  // namespace flowback
