// SPDX-License-Identifier: MIT
// perf's way to say what a trace shall hold: `-e intel_pt/TERM=VALUE,.../u`.
#pragma once

#include <string_view>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// Takes the terms over into `options`; what they don't name stays. Errors: kUsage.
Status ApplyPtEvent(std::string_view event, RecordOptions& options);

}  // namespace flowback::cli
