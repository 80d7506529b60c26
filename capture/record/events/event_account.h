// SPDX-License-Identifier: MIT
// What the kernel's records say of themselves: how many came, and what is missing.
#pragma once

#include <cstdint>

#include "capture/record/events/event_ring.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// Counts what is in `records`, which is whole records.
void CountRecords(const RingPart& records, EventCounts& counts);

}  // namespace flowback::record
