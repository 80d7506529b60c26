// SPDX-License-Identifier: MIT
// Chooses a gdb that can show a recording: Debian's gdb knows only its own machine's instruction
// sets.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/model/code_mode.h"

namespace flowback::cli {

// Returns the name of an installed gdb that can show code of that mode. Errors: kCommandMissing.
Result<std::string> GdbFor(CodeMode mode);

// Returns the name of the gdb that can show it, whether it is installed or not.
std::string UsualGdbFor(CodeMode mode);

}  // namespace flowback::cli
