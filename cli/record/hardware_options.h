// SPDX-License-Identifier: MIT
// Options of perf that software cannot follow. They are known, so that the refusal can name an
// alternative.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "flowback/base/error.h"

namespace flowback::cli {

// Not listed in the help: they do nothing.
void AddHardwareOptions(CLI::App& app);

// Errors: kNoHardware, kUnsupported: one of them was given.
Status RefuseHardwareOptions(const CLI::App& app);

// What help says of the options of the kernel's events, which emulating and stepping refuse.
std::string RefusedOptions();

// Refuses options that only engines of the kernel's events follow, for another engine.
Status RefuseEventOptions(const CLI::App& app);

}  // namespace flowback::cli
