// SPDX-License-Identifier: MIT
// Counts the kernel's records, and the losses that they report.
#pragma once

#include <cstdint>

#include "capture/record/events/event_ring.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// Counts `records`. REQUIRES: they are whole.
void CountRecords(const RingPart& records, EventCounts& counts);

}  // namespace flowback::record
