// SPDX-License-Identifier: MIT
// Whether a recording holds slow calls alone (record --trigger).
#pragma once

#include <string>

#include "flowback/model/recording.h"

namespace flowback {

// Returns the function whose slow calls alone were recorded: the recorder's events are named after
// it, "uprobe:FUNC" and "uprobe:FUNC:return", beside a trace. Empty: the recorder kept everything.
std::string TriggerFunctionOf(const Recording& recording);

}  // namespace flowback
