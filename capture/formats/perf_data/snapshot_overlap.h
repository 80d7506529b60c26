// SPDX-License-Identifier: MIT
// What two consecutive snapshots of one trace buffer have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "flowback/base/bytes.h"

namespace flowback {

struct SnapshotOverlap {
  uint64_t repeated = 0;  // bytes at the beginning of the later one that the earlier one has, too
  uint64_t padding = 0;   // zeros at the end of the earlier one that are not of the trace
  bool earlier_is_inside = false;  // the later one holds all of the earlier, and more before it
};

// Empty when nothing proves that they overlap.
std::optional<SnapshotOverlap> FindSnapshotOverlap(Bytes earlier, Bytes later);

}  // namespace flowback
