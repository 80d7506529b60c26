// SPDX-License-Identifier: MIT
// What `flowback report` was asked for.
#pragma once

#include <string>
#include <vector>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct ReportOptions {
  ReaderOptions reader;
  std::vector<std::string> more;  // further recordings
  std::string function;           // whose slow calls are explained; empty: the program's own loops
  std::string title;              // empty: named after the recording
  std::string version;            // of flowback
  // The options that every command below gets, as words of a command line.
  std::vector<std::string> passed;
};

}  // namespace flowback::cli
