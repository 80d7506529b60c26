// SPDX-License-Identifier: MIT
// Counts with the noun that they count, as sentences say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flowback {

// Returns "1 thread", "3 losses".
std::string Counted(uint64_t count, std::string_view one);

}  // namespace flowback
