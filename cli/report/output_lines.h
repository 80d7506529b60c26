// SPDX-License-Identifier: MIT
// Reads what a command wrote into a file.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace flowback::cli {

// Calls `take` with each line of the file, without its end. Lines beyond 16 MB are left out.
void ForEachLine(std::FILE* file, const std::function<void(std::string_view line)>& take);
// Returns the file's text up to `most` bytes. Memory is proportional to the text, not to `most`.
std::string TextOf(std::FILE* file, size_t most);

}  // namespace flowback::cli
