// SPDX-License-Identifier: MIT
// What the kernel's records say of themselves: how many came, and what is missing.
#pragma once

#include <cstdint>

#include "capture/record/event_ring.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// The eight bytes at an offset of both parts together; 0 behind their end. Records and their fields
// lie at multiples of 8, and so does the ring's end: none of them is cut by it.
uint64_t WordAt(const RingPart& part, uint64_t offset);

// Calls visit(type, offset) for each record. `records` is whole records.
template <class Visit>
void VisitRecords(const RingPart& records, Visit visit) {
  constexpr unsigned kSizeAt = 48;  // in the header's word
  constexpr uint64_t kHeader = 8;
  for (uint64_t at = 0; at < records.size();) {
    const uint64_t header = WordAt(records, at);
    const uint64_t size = header >> kSizeAt;
    if (size < kHeader) return;
    visit(static_cast<uint32_t>(header), at);
    at += size;
  }
}

// Counts what is in `records`, which is whole records.
void CountRecords(const RingPart& records, EventCounts& counts);

}  // namespace flowback::record
