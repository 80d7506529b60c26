// SPDX-License-Identifier: MIT
// What standard output and error lead to, and how wide it is.
#pragma once

#include <cstddef>

namespace flowback::cli {

bool IsTerminal(int descriptor);

// Columns: $COLUMNS where it is set, else what the terminal says; 80 where nothing tells.
size_t TerminalWidth(int descriptor);

}  // namespace flowback::cli
