// SPDX-License-Identifier: MIT
// The kernel's records, one by one, as they lie in a ring.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "capture/record/events/event_ring.h"

namespace flowback::record {

// A record of the kernel's; valid while it is visited.
struct RingRecord {
  uint32_t type = 0;
  uint16_t misc = 0;
  Bytes body;  // behind the header

  // The 64 bits at the offset; 0 where the record ends before.
  uint64_t Word(size_t offset) const {
    uint64_t word = 0;
    if (offset + sizeof word <= body.size()) std::memcpy(&word, body.data() + offset, sizeof word);
    return word;
  }
  // Returns a word counted from the end: 1 is the last.
  uint64_t WordFromEnd(size_t words) const {
    return body.size() < 8 * words ? 0 : Word(body.size() - 8 * words);
  }
};

// Calls `visit` with each record of `records`, which is whole records. Bytes that are no record end
// it.
template <class Visit>
void VisitRecords(const RingPart& records, const Visit& visit) {
  struct Header {
    uint32_t type;
    uint16_t misc, size;
  };
  std::vector<uint8_t> joined;  // of the one that goes over the ring's end
  for (size_t at = 0; at + sizeof(Header) <= records.size();) {
    // Records lie at multiples of 8, and so does the ring's end: no header is cut by it.
    const Bytes from = at < records.first.size()
                           ? records.first.subspan(at)
                           : records.second.subspan(at - records.first.size());
    Header header;
    std::memcpy(&header, from.data(), sizeof header);
    if (header.size < sizeof header || at + header.size > records.size()) return;
    Bytes whole = from;
    if (from.size() < header.size) {
      joined.assign(from.begin(), from.end());
      const Bytes rest = records.second.first(header.size - from.size());
      joined.insert(joined.end(), rest.begin(), rest.end());
      whole = joined;
    }
    visit(RingRecord{header.type, header.misc,
                     whole.subspan(sizeof header, header.size - sizeof header)});
    at += header.size;
  }
}

}  // namespace flowback::record
