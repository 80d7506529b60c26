// SPDX-License-Identifier: MIT
// Numbers with what they count: sizes and durations as options take them, counts as sentences do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback::cli {

// "4096", "64K", "2m", "1GB", "1GiB" (powers of 1024). Errors: kUsage, naming `option`.
Result<uint64_t> ParseSize(const std::string& text, const std::string& option);
// "50us", "10ms", "1.5s", "2m", "1h30m"; a bare number is seconds. Nanoseconds. Errors: kUsage.
Result<uint64_t> ParseDuration(const std::string& text, const std::string& option);

// "1 thread", "3 losses".
std::string Counted(uint64_t count, std::string_view one);

}  // namespace flowback::cli
