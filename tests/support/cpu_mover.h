// SPDX-License-Identifier: MIT
// A thread's trace as it would be had the thread been moved from CPU to CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/base/bytes.h"
#include "flowback/model/machine.h"

namespace flowback::support {

// When a CPU that the thread comes to writes the time.
enum class TimeTold : uint8_t {
  kAhead,   // before its TIP.PGE, as hardware does when tracing is switched on
  kBehind,  // directly after it
  kNever,   // no timing packets at all
};

struct MoveOptions {
  unsigned cpus = 2;
  uint64_t seed = 1;
  unsigned stay = 2;  // pauses of the trace until it moves, on average
  TimeTold told = TimeTold::kAhead;
};

// The thread came to the CPU.
struct CpuMove {
  uint64_t tsc = 0;
  unsigned cpu = 0;
};

struct MovedTrace {
  std::vector<std::vector<uint8_t>> streams;  // by CPU; may be empty
  std::vector<CpuMove> moves;                 // the first one: where it was first
};

// Divides the trace of one CPU at TIP.PGE packets. REQUIRES: 64-bit code; no compressed returns,
// which need the call stack of one CPU.
MovedTrace MoveOverCpus(Bytes stream, const PtConfig& config, const MoveOptions& options);

}  // namespace flowback::support
