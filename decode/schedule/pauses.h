// SPDX-License-Identifier: MIT
// The places in a stream where the thread can have changed, and when that was.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flowback/base/joined_bytes.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback {

// Tracing was off, or the flow was lost: the kernel ran, and may have switched threads. Times in
// perf nanoseconds.
struct Pause {
  uint64_t offset = 0;    // of the packet that begins the flow again
  uint64_t earliest = 0;  // the pause did not begin before; 0: not known
  uint64_t resumed = 0;   // the flow does not go on before; 0: not known, or at_end
  uint64_t latest = 0;    // the flow goes on at this time at the latest
  bool inside = false;    // a change of address space while tracing was on: part of a switch
  bool at_end = false;    // no flow follows: the stream ends
};

// Calls `visit` for each pause, in stream order; its begin, its end and each gap are some.
// Stops when it returns false. False when the stream does not tell the time. REQUIRES:
// config.time.known().
bool VisitPauses(StreamWindow stream, const std::vector<StreamGap>& gaps, const PtConfig& config,
                 const std::function<bool(const Pause&)>& visit);

}  // namespace flowback
