// SPDX-License-Identifier: MIT
// What a file is, by its first bytes: whether overwriting it would be a pity.
#pragma once

#include <string>
#include <string_view>

namespace flowback::cli {

// A file of perf's format, of either byte order.
bool IsRecording(const std::string& path);
// "a recording", "an ELF file" or the like; empty where the file is none, or cannot be read.
std::string_view KindOfValuableFile(const std::string& path);

}  // namespace flowback::cli
