// SPDX-License-Identifier: MIT
// Whether the options fit each other and the recorder that they name.
#pragma once

#include "capture/record/control/recorder.h"
#include "flowback/base/error.h"

namespace flowback::record {

// The recorder that is to do it. Errors: kUsage, kUnsupported (none of that name).
Result<const RecorderRow*> CheckOptions(const RecordOptions& options);

}  // namespace flowback::record
