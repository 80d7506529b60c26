// SPDX-License-Identifier: MIT
// What a file is, by its first bytes: whether overwriting it would be a pity.
#pragma once

#include <string>
#include <string_view>

namespace flowback::cli {

// A file of perf's format, of either byte order.
bool IsRecording(const std::string& path);
// Returns the kind of a valuable file, such as "a recording" or "an ELF file"; empty: it is not
// valuable, or cannot be read.
std::string_view KindOfValuableFile(const std::string& path);

}  // namespace flowback::cli
