// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct StackOptions {
  ReaderOptions reader;
  std::string at = "end";
  std::string thread;
  bool all = false;
  bool stitch = false;  // of samples
  bool paths = false;   // of samples
};

}  // namespace flowback::cli
