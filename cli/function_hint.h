// SPDX-License-Identifier: MIT
// What somebody may have meant who named a function that no recorded file has.
#pragma once

#include <string>

namespace flowback::cli {

// " (did you mean 'main'?)" by the functions of the files that the recording names; empty: none is
// near, it is no single name, or the recording can't be read.
std::string DidYouMeanFunction(const std::string& recording, const std::string& function);

}  // namespace flowback::cli
