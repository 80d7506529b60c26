// SPDX-License-Identifier: MIT
// Options of `record` that the kernel's events follow, beside those that say which events.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

struct EventWords {
  std::string delay, trigger, switch_output, aux_sample;
  std::vector<std::string> filters;
  const CLI::Option* aux_samples = nullptr;
  bool frame_pointers = false;
  bool excludes_recorder = false;  // the order of options names the event
  const CLI::Option* switches = nullptr;

  // Only the latest trace is kept, though -S does not say so: once UnderstandEventOptions ran.
  bool keeps_latest(const RecordOptions& options) const {
    return options.direction.on_crash || (options.engine == "pt" && !trigger.empty());
  }
};

// --on-crash. Errors: kUsage where no command is started, or no trace made.
Status CheckCrash(const RecordOptions& options);

void AddEventOptions(CLI::App& app, EventWords& words, RecordOptions& options);

// Errors: kUsage.
Status UnderstandEventOptions(const EventWords& words, const CLI::App& app, RecordOptions& options);

}  // namespace flowback::cli
