// SPDX-License-Identifier: MIT
// Sizes and durations as options take them.
#pragma once

#include <cstdint>
#include <string>

#include "flowback/base/error.h"

namespace flowback::cli {

// "4096", "64K", "2m", "1GB", "1GiB" (powers of 1024). Errors: kUsage, naming `option`.
Result<uint64_t> ParseSize(const std::string& text, const std::string& option);
// "50us", "10ms", "1.5s", "2m", "1h30m"; a bare number is seconds. Nanoseconds. Errors: kUsage.
Result<uint64_t> ParseDuration(const std::string& text, const std::string& option);

}  // namespace flowback::cli
