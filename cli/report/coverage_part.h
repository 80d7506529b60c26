// SPDX-License-Identifier: MIT
// The part of a coverage that a report shows.
#pragma once

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace flowback::cli {

// How many rows a report has room for.
struct CoverageRoom {
  size_t files = 40;
  size_t functions = 40;  // that never executed
  size_t branches = 40;   // that went one way
};

// Reads the lines that `coverage --json` wrote. Returns the sentences and shares, the shares of
// each object, and of the program itself its source files, and from these its largest functions
// that never executed, and its most frequent branches that went one way only. `left_out` counts the
// other rows. Empty if the file holds no such lines. Memory is proportional to the rows and the
// files.
std::optional<nlohmann::json> ReadCoverage(std::FILE* lines, const CoverageRoom& room);

}  // namespace flowback::cli
