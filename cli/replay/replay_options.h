// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct ReplayOptions {
  ReaderOptions reader;
  std::string at = "end";
  std::optional<int32_t> pid;             // of the process; empty: the one that executed most
  std::optional<std::string> gdb_server;  // a port or a path; "": any port. Empty: gdb is started
  std::string listen;                     // an address other than the machine's own
  bool dap = false;                       // for an editor, on standard input and output
  std::optional<std::string> dap_server;  // for editors, on a port or at a path
  bool gdb_init = false;
  std::vector<std::string> gdb_words;  // for gdb
};

}  // namespace flowback::cli
