// SPDX-License-Identifier: MIT
// What a user of perf may type that software can't record: known, so that the refusal can tell what
// works instead.
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

// The same of those that engines of the kernel's events follow, for an engine that is none.
Status RefuseEventOptions(const CLI::App& app);

}  // namespace flowback::cli
