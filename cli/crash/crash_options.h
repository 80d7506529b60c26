// SPDX-License-Identifier: MIT
// The options of `crash`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct CrashWords {
  ReaderOptions reader;
  std::optional<int32_t> pid;  // of the process; empty: the first one that a signal killed
  uint64_t last = 20;          // calls, lines and instructions of each thread
  std::string why;             // a register or an address
};

// Returns the exit status.
int Crash(const CrashWords& words);

}  // namespace flowback::cli
