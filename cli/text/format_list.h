// SPDX-License-Identifier: MIT
// Lists the rows of a table, for help and messages.
#pragma once

#include <string>

namespace flowback::cli {

// Returns the names of the rows: "lcov, json".
template <class Rows>
std::string NamesOf(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// Returns the names of the rows, each with its summary: "lcov (a tracefile), json (...)".
template <class Rows>
std::string SummariesOf(const Rows& rows) {
  std::string text;
  for (const auto& row : rows)
    text +=
        (text.empty() ? "" : ", ") + std::string(row.name) + " (" + std::string(row.summary) + ')';
  return text;
}

// Returns a line for each row: its name and summary.
template <class Rows>
std::string LinesOf(const Rows& rows) {
  std::string text;
  for (const auto& row : rows)
    text += (text.empty() ? "" : "\n") + std::string(row.name) + ": " + std::string(row.summary);
  return text;
}

}  // namespace flowback::cli
