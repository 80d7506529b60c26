// SPDX-License-Identifier: MIT
// The part of a trace that was written between two moments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/machine.h"

namespace flowback::record {

// Half-open.
struct TraceCut {
  size_t begin = 0, end = 0;
  bool whole = true;  // false: the sync point before the first moment is not in the trace
};

// Where in the trace there are sync points with a time. They are looked for once.
class TraceTimes {
 public:
  // `latest` is a moment of the records' clock not far from the trace's: by it the counter's upper
  // bits are known, which its packets lack.
  TraceTimes(Bytes trace, const TimeConversion& conversion, uint64_t latest);

  // From the last sync point at or before `begin` to the first at or after `end`, or the trace's
  // end. Empty: all of it was written before or after, or nothing in it has a time.
  std::optional<TraceCut> Between(uint64_t begin, uint64_t end) const;

 private:
  struct SyncPoint {
    size_t at = 0;
    uint64_t time = 0;
  };
  size_t size_ = 0;
  std::vector<SyncPoint> points_;
};

}  // namespace flowback::record
