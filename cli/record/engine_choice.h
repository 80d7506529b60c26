// SPDX-License-Identifier: MIT
// Which recorder does what the options ask for.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// "auto, pt, ..., emulate or step"
std::string EngineNames();
// What --engine means: each engine, its cost, and the order in which auto tries them.
std::string EngineHelp();

// `word` is what --engine says; `suits_hardware`: all the options are such that tracing hardware
// can follow. Prints the choice of "auto" if it is not this machine's usual one. Errors: kUsage.
Result<std::string> ChooseEngine(const std::string& word, const RecordOptions& options,
                                 bool suits_hardware);

}  // namespace flowback::cli
