// SPDX-License-Identifier: MIT
// How a NamedRegion stands in our recordings: begun, ended, total and longest nanoseconds, 8 bytes
// each; then the name, its size in 4 bytes and the text with zeros up to that.
#pragma once

#include "capture/formats/input/field_reader.h"
#include "capture/formats/perf_records/named_regions.h"

namespace flowback {

// The header's feature that has the regions: flowback's own, like the feature of processes' ends.
inline constexpr unsigned kFeatureRegions = 193;

// The next one. False where it is cut.
inline bool ReadNamedRegion(FieldReader& fields, NamedRegion& region) {
  for (uint64_t* number : {&region.begun, &region.ended, &region.total_ns, &region.longest_ns})
    *number = fields.U64();
  region.name = TextOf(fields.Take(fields.U32()));
  return fields.ok();
}

}  // namespace flowback
