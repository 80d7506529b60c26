// SPDX-License-Identifier: MIT
// Which recorder does what the options ask for.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// "auto, pt, ..., emulate or step"
std::string EngineNames();

// `word` is what --engine says; `suits_hardware`: all the options are such that tracing hardware
// can follow. Tells the user what "auto" took, where that is not what it takes here every time.
// Errors: kUsage.
Result<std::string> ChooseEngine(const std::string& word, const RecordOptions& options,
                                 bool suits_hardware);

}  // namespace flowback::cli
