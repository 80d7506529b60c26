// SPDX-License-Identifier: MIT
// What `pack` is asked for.
#pragma once

#include <string>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct PackOptions {
  ReaderOptions reader;
  bool strip_source = false;
  bool no_core = false;
  bool redact = false;
  std::string made_by;  // this program and its version
};

// Packs the options' input. Returns the exit status.
int Pack(const PackOptions& options);

}  // namespace flowback::cli
