// SPDX-License-Identifier: MIT
// What standard output and error lead to, and how wide it is.
#pragma once

#include <cstddef>

namespace flowback::cli {

bool IsTerminal(int descriptor);

// Columns: $COLUMNS where it is set, else what the terminal says, or `otherwise`.
size_t TerminalWidth(int descriptor, size_t otherwise = 80);

}  // namespace flowback::cli
