// SPDX-License-Identifier: MIT
#include "replay/query/scan_plan.h"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace flowback {
namespace {

bool IsOrder(unsigned char comparison) {
  switch (comparison) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
      return true;
    default:
      return false;
  }
}

bool IsOfUse(const QueryColumn& column, unsigned char comparison) {
  switch (column.limit) {
    case LimitKind::kNone:
      return false;
    case LimitKind::kTid:
    case LimitKind::kFunction:
      return comparison == SQLITE_INDEX_CONSTRAINT_EQ;
    case LimitKind::kBegin:
    case LimitKind::kEnd:
    case LimitKind::kMoment:
      return IsOrder(comparison);
  }
  return false;
}

// Whether texts are equal only if their bytes are: not so by COLLATE NOCASE or RTRIM.
bool ComparesBytes(sqlite3_index_info& info, int constraint) {
  return sqlite3_stricmp(sqlite3_vtab_collation(&info, constraint), "BINARY") == 0;
}

// The part of all rows that a comparison leaves, as a guess that orders the tables of a join.
double ShareOf(const QueryColumn& column, unsigned char comparison) {
  constexpr double kOneOfMany = 0.01;
  constexpr double kSome = 0.2;
  return comparison == SQLITE_INDEX_CONSTRAINT_EQ && column.limit != LimitKind::kTid ? kOneOfMany
                                                                                     : kSome;
}

// The whole numbers that a value compares with: what lies between two of them is rounded so that no
// row is left out. Empty: any number may fit, as with text.
struct Bounds {
  bool known = false;
  bool is_null = false;
  int64_t below = 0;  // the greatest number not above the value
  int64_t above = 0;  // the least one not below it
};

Bounds BoundsOf(sqlite3_value* value) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_NULL:
      return {.is_null = true};
    case SQLITE_INTEGER: {
      const int64_t number = sqlite3_value_int64(value);
      return {.known = true, .below = number, .above = number};
    }
    case SQLITE_FLOAT: {
      constexpr double kMost = 9e18;
      const double number = std::clamp(sqlite3_value_double(value), -kMost, kMost);
      return {.known = true,
              .below = static_cast<int64_t>(std::floor(number)),
              .above = static_cast<int64_t>(std::ceil(number))};
    }
    default:
      return {};
  }
}

uint64_t Unsigned(int64_t number) { return number < 0 ? 0 : static_cast<uint64_t>(number); }

// Cuts a span by one comparison. False: nothing is left.
bool Cut(TimeSpan& span, unsigned char comparison, const Bounds& bounds) {
  if (!bounds.known) return true;
  const bool is_equal = comparison == SQLITE_INDEX_CONSTRAINT_EQ;
  if (is_equal || comparison == SQLITE_INDEX_CONSTRAINT_GE ||
      comparison == SQLITE_INDEX_CONSTRAINT_GT)
    span.begin = std::max(span.begin, Unsigned(bounds.above));
  if (is_equal || comparison == SQLITE_INDEX_CONSTRAINT_LE ||
      comparison == SQLITE_INDEX_CONSTRAINT_LT) {
    if (bounds.below < 0) return false;
    span.end = std::min(span.end, Unsigned(bounds.below));
  }
  return span.begin <= span.end;
}

// False: no row fits.
bool AddLimit(const QueryColumn& column, unsigned char comparison, sqlite3_value* value,
              QueryLimits& limits) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return false;
  if (column.limit == LimitKind::kFunction) {
    if (sqlite3_value_type(value) != SQLITE_TEXT) return true;
    std::string text(reinterpret_cast<const char*>(sqlite3_value_text(value)),
                     static_cast<size_t>(sqlite3_value_bytes(value)));
    const bool agrees = !limits.function || *limits.function == text;
    limits.function = std::move(text);
    return agrees;
  }
  const Bounds bounds = BoundsOf(value);
  if (column.limit == LimitKind::kTid) {
    if (!bounds.known || bounds.below != bounds.above) return true;
    const bool agrees = limits.FitsThread(bounds.below);
    limits.tid = bounds.below;
    return agrees;
  }
  const bool fits_begin = column.limit == LimitKind::kEnd || Cut(limits.begin, comparison, bounds);
  const bool fits_end = column.limit == LimitKind::kBegin || Cut(limits.end, comparison, bounds);
  return fits_begin && fits_end;
}

}  // namespace

bool ChoosePlan(const QueryTable& table, sqlite3_index_info& info) {
  ScanPlan plan{.limits = {}, .columns = info.colUsed};
  double rows = table.usual_rows;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& constraint = info.aConstraint[i];
    if (constraint.usable == 0 || constraint.iColumn < 0) continue;
    const QueryColumn& column = table.columns[static_cast<size_t>(constraint.iColumn)];
    if (!IsOfUse(column, constraint.op)) continue;
    if (column.limit == LimitKind::kFunction && !ComparesBytes(info, i)) continue;
    plan.limits.push_back({static_cast<size_t>(constraint.iColumn), constraint.op});
    info.aConstraintUsage[i].argvIndex = static_cast<int>(plan.limits.size());
    rows *= ShareOf(column, constraint.op);
  }
  info.estimatedRows = std::max<sqlite3_int64>(1, static_cast<sqlite3_int64>(rows));
  info.estimatedCost = std::max(1.0, rows);
  info.idxStr = sqlite3_mprintf("%s", plan.ToText().c_str());
  info.needToFreeIdxStr = 1;
  return info.idxStr != nullptr;
}

std::string ScanPlan::ToText() const {
  std::string text = std::to_string(columns);
  for (const PlannedLimit& limit : limits)
    text += ' ' + std::to_string(limit.column) + ' ' + std::to_string(limit.comparison);
  return text;
}

ScanPlan ScanPlan::FromText(const char* text) {
  ScanPlan plan;
  const char* at = text;
  const char* const end = text + std::strlen(text);
  const auto next = [&](auto& number) {
    while (at != end && *at == ' ') ++at;
    at = std::from_chars(at, end, number).ptr;
  };
  next(plan.columns);
  while (at != end) {
    PlannedLimit limit;
    unsigned comparison = 0;
    next(limit.column);
    next(comparison);
    limit.comparison = static_cast<unsigned char>(comparison);
    plan.limits.push_back(limit);
  }
  return plan;
}

QueryLimits LimitsOf(const QueryTable& table, const ScanPlan& plan,
                     std::span<sqlite3_value* const> values) {
  QueryLimits limits;
  limits.columns = plan.columns;
  for (size_t i = 0; i < plan.limits.size() && i < values.size(); ++i) {
    const PlannedLimit& limit = plan.limits[i];
    if (!AddLimit(table.columns[limit.column], limit.comparison, values[i], limits))
      limits.none = true;
  }
  return limits;
}

}  // namespace flowback
