// SPDX-License-Identifier: MIT
#include "cli/query/sql_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback::cli {
namespace {

struct Place {
  size_t line = 1;   // from 1
  size_t begin = 0;  // of the line, in bytes
  size_t end = 0;
  size_t at = 0;
};

Place PlaceOf(const std::string& sql, uint64_t offset) {
  Place place{.at = std::min<size_t>(offset, sql.size())};
  const std::string_view before = std::string_view(sql).substr(0, place.at);
  place.line += static_cast<size_t>(std::ranges::count(before, '\n'));
  const size_t newline = before.rfind('\n');
  place.begin = newline == std::string_view::npos ? 0 : newline + 1;
  place.end = std::min(sql.find('\n', place.at), sql.size());
  return place;
}

}  // namespace

std::string PlaceText(const std::string& sql, const Error& error) {
  if (!error.offset()) return {};
  constexpr size_t kBefore = 60;
  constexpr size_t kBehind = 40;
  const Place place = PlaceOf(sql, *error.offset());
  const size_t from = place.at - place.begin > kBefore ? place.at - kBefore : place.begin;
  const size_t to = std::min(place.end, place.at + kBehind);
  const std::string ahead = PrintableProse(std::string_view(sql).substr(from, place.at - from));
  const std::string behind = PrintableProse(std::string_view(sql).substr(place.at, to - place.at));
  return fmt::format("  {}{}\n  {}^\n", ahead, behind, std::string(ColumnsOf(ahead), ' '));
}

Error WithPlace(const std::string& sql, const Error& error) {
  std::string message = error.message();
  if (error.offset()) {
    const Place place = PlaceOf(sql, *error.offset());
    message += fmt::format(", at line {}, column {}", place.line, place.at - place.begin + 1);
  }
  Error placed(error.code(), std::move(message));
  if (!error.remedy().empty() || !error.message().starts_with("SQL: "))
    return placed.Remedy(error.remedy());
  const bool is_refused = error.message().contains("author");
  return placed.Remedy(is_refused
                           ? "ask for rows with SELECT: a query reads the recording and no other "
                             "file, and writes none"
                           : "`flowback query --schema` lists tables, columns and functions");
}

}  // namespace flowback::cli
