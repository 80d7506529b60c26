// SPDX-License-Identifier: MIT
// What `flowback decode` is asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/decode/print_shares.h"
#include "cli/listing/flow_printer.h"
#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct DecodeOptions {
  ReaderOptions reader;
  std::string kind = "instructions";
  std::string fields;
  bool not_taken = false;
  bool by_cpu = false;
  bool by_time = false;
  bool time_of_day = false;
  CallSelection calls;
  std::string function;
  std::string by;
  std::optional<ShareKind> shares;
  std::string min_duration;
};

void AddDecodeOptions(CLI::App& app, DecodeOptions& options);

// Takes over what the words say about which part of the flow is wanted. Errors: kUsage.
Status UnderstandSelection(DecodeOptions& options);

}  // namespace flowback::cli
