// SPDX-License-Identifier: MIT
// The functions of recorded files by name, and names similar to one that none of them has.
#pragma once

#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"

namespace flowback::cli {

// Appends the demangled names of the file's functions, and of those that its separate debug file
// adds, until there are `most`. A file that can't be read has none.
void AppendFunctions(const std::string& path, const ImageSearch& search, size_t most,
                     std::vector<std::string>& names);

// Returns the functions of all existing files that the recording names.
std::vector<std::string> RecordedFunctions(const Recording& recording, const ImageSearch& search,
                                           size_t most);

// " (did you mean 'main'?)" by the functions of the files that the recording names; empty: none is
// near, it is no single name, or the recording can't be read.
std::string DidYouMeanFunction(const std::string& recording, const std::string& function);

}  // namespace flowback::cli
