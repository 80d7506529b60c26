// SPDX-License-Identifier: MIT
// Counts with the noun that they count, as sentences say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flowback {

// Returns the digits in groups of three: "1,234,567".
std::string GroupedDigits(uint64_t number);

// Returns "1 thread", "3 losses", "1,200 calls".
std::string Counted(uint64_t count, std::string_view one);

// Returns `one` for a count of 1, else `many`, as "is" and "are".
inline std::string_view ByCount(uint64_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace flowback
