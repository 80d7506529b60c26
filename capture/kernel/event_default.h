// SPDX-License-Identifier: MIT
// What an event's configuration is before its terms say more: what the PMU can do best.
#pragma once

#include "capture/kernel/wanted_event.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

inline constexpr char kIntelPtName[] = "intel_pt";

// As perf has it: of Intel PT times (TSC; MTC with period 3 or the nearest there is), sync points
// every 16 KiB or the nearest, branches. Nothing of other PMUs.
void SetDefaults(const Pmu& pmu, perf_event_attr& attr);

// Whether the PMU's capabilities allow the values. Errors: kNoHardware, one sentence that begins
// with the term; the remedy names values that it has.
Status CheckAgainstCaps(const WantedEvent& event);

}  // namespace flowback::kernel
