// SPDX-License-Identifier: MIT
// What stands between the slashes of an event: `event=0x3c,umask=1,period=1000`.
#pragma once

#include <string_view>

#include "capture/kernel/wanted_event.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

// Terms of the event's PMU, of perf_event_attr (config, config1, config2), names of the PMU's
// events, and perf's own (name, period, ...). Errors: kUsage, kUnsupported; one sentence without
// the event.
Status ApplyTerms(std::string_view terms, WantedEvent& event);

// A number as perf reads it: decimal, or hexadecimal behind 0x. Empty: it is none.
std::optional<uint64_t> ParseTermNumber(std::string_view text);

}  // namespace flowback::kernel
