// SPDX-License-Identifier: MIT
// Options of the counters beside the trace.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

struct CounterWords {
  std::string interval;
};

// Both must outlive the parsing.
void AddCounterOptions(CLI::App& app, CounterWords& words, RecordOptions& options);
// Errors: kUsage.
Status UnderstandCounters(const CounterWords& words, RecordOptions& options);

}  // namespace flowback::cli
