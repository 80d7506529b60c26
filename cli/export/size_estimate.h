// SPDX-License-Identifier: MIT
// How large an export of calls becomes, before it is written.
#pragma once

#include <cstdint>
#include <string_view>

namespace flowback::cli {

// Warns if the calls of so many bytes of trace become a larger file in that format than its readers
// open, and names the options that make it smaller. Says nothing of formats that add calls up.
// `is_part`: such options are given already.
void WarnOfSize(std::string_view format, uint64_t trace_bytes, bool is_part);

}  // namespace flowback::cli
