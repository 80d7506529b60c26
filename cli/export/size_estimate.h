// SPDX-License-Identifier: MIT
// How large an export of calls becomes, before it is written.
#pragma once

#include <cstdint>
#include <string_view>

namespace flowback::cli {

// Warns if calls from `trace_bytes` of trace make a larger file than the format's readers open.
// Names the options that make it smaller. Ignores formats that add calls up. `is_part`: such
// options are given already.
void WarnOfSize(std::string_view format, uint64_t trace_bytes, bool is_part);

}  // namespace flowback::cli
