// SPDX-License-Identifier: MIT
// How SQLite's comparisons with columns become the limits of a scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/query/table.h"

struct sqlite3_index_info;
struct sqlite3_value;

namespace flowback {

// One comparison whose other side is known when the scan begins.
struct PlannedLimit {
  size_t column = 0;
  unsigned char comparison = 0;  // SQLITE_INDEX_CONSTRAINT_*
};

// Chooses the comparisons that the table has a use for, and sets the cost of the scan for SQLite.
// False: there is no memory.
bool ChoosePlan(const QueryTable& table, sqlite3_index_info& info);

// The comparisons of a plan, from the text that ChoosePlan gave SQLite, and its columns.
struct ScanPlan {
  std::vector<PlannedLimit> limits;
  uint64_t columns = ~0ULL;

  static ScanPlan FromText(const char* text);
  std::string ToText() const;
};

// Returns the limits of a scan whose conditions compare with `values`.
QueryLimits LimitsOf(const QueryTable& table, const ScanPlan& plan,
                     std::span<sqlite3_value* const> values);

}  // namespace flowback
