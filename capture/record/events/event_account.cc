// SPDX-License-Identifier: MIT
#include "capture/record/events/event_account.h"

#include <cstring>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::record {
namespace {

using namespace perf;

// At an offset of both parts together. Records and their fields lie at multiples of 8, and so does
// the ring's end: none of them is cut by it.
uint64_t WordAt(const RingPart& part, uint64_t offset) {
  const Bytes bytes = offset < part.first.size() ? part.first : part.second;
  const uint64_t at = offset < part.first.size() ? offset : offset - part.first.size();
  return at + sizeof(uint64_t) <= bytes.size() ? LoadLittleEndian(bytes.data() + at, 8) : 0;
}

void CountAux(uint64_t flags, EventCounts& counts) {
  if ((flags & (kAuxTruncated | kAuxCollision)) != 0) ++counts.trace_gaps;
}

void CountOne(uint32_t type, const RingPart& records, uint64_t at, EventCounts& counts) {
  constexpr uint64_t kLostCountAt = 16;   // of LOST, behind the event's id
  constexpr uint64_t kLostSamplesAt = 8;  // of LOST_SAMPLES
  constexpr uint64_t kAuxFlagsAt = 24;
  ++counts.records;
  if (type == kRecordSample) ++counts.samples;
  if (type == kRecordLost) counts.lost_records += WordAt(records, at + kLostCountAt);
  if (type == kRecordLostSamples) counts.lost_samples += WordAt(records, at + kLostSamplesAt);
  if (type == kRecordAux) CountAux(WordAt(records, at + kAuxFlagsAt), counts);
}

}  // namespace

void CountRecords(const RingPart& records, EventCounts& counts) {
  constexpr unsigned kSizeAt = 48;  // in the header's word
  for (uint64_t at = 0; at < records.size();) {
    const uint64_t header = WordAt(records, at);
    const uint64_t size = header >> kSizeAt;
    if (size < kRecordHeaderSize) return;
    CountOne(static_cast<uint32_t>(header), records, at, counts);
    at += size;
  }
}

}  // namespace flowback::record
