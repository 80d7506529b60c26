// SPDX-License-Identifier: MIT
// Options of `record` that the kernel's events follow, beside those that say which events.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

struct EventWords {
  std::string delay, trigger, switch_output;
  const CLI::Option* switches = nullptr;

  // Only the latest trace is kept, though -S does not say so: once UnderstandEventOptions ran.
  bool keeps_latest(const RecordOptions& options) const {
    return options.engine == "pt" && (!trigger.empty() || options.direction.on_crash);
  }
};

void AddEventOptions(CLI::App& app, EventWords& words, RecordOptions& options);

// Errors: kUsage.
Status UnderstandEventOptions(const EventWords& words, RecordOptions& options);

}  // namespace flowback::cli
