// SPDX-License-Identifier: MIT
// libipt's events as ours.
#pragma once

#include <intel-pt.h>

#include <optional>

#include "flowback/model/execution.h"

namespace flowback::libipt {

// Offset and time are the caller's to fill in. Empty for what we have no event for (ticks).
std::optional<TraceEvent> Translate(const pt_event& event);

}  // namespace flowback::libipt
