// SPDX-License-Identifier: MIT
// One instance of a region of code: a call of a function, or what ran from one place to another.
#pragma once

#include <cstdint>

#include "flowback/replay/time_account.h"
#include "flowback/replay/timeline.h"
#include "replay/threads/time_slot.h"

namespace flowback {

// Whether all of an instance was seen.
enum class InstanceState : uint8_t {
  kWhole,
  kBegunBefore,  // it was running when the flow began
  kCutByEnd,     // it was running when the thread's flow ended, or the recorder paused
  kLost,         // the trace lost what came next
};
inline constexpr size_t kInstanceStates = 4;

// Times are in the unit of the RecordingClock.
struct Instance {
  uint32_t thread = 0;  // the thread's number in the list that is played
  int32_t tid = -1;
  // The function whose call it is, or in which it began: its number in the FunctionTable.
  uint32_t function = CallPath::kNoFunction;
  InstanceState state = InstanceState::kWhole;
  TimePoint begin;
  TimePoint end;
  uint64_t first_instruction = 0;  // instructions of the thread before it
  uint64_t end_instruction = 0;    // and before its end; those on other stacks lie between, too
  uint64_t instructions = 0;       // its own
  uint64_t cycles = 0;             // from CYC packets, each counted where it ends; 0: none were
  uint64_t lost_bytes = 0;         // bytes of trace that are lost within it or at its end
  ClassTimes times{};              // their sum is end.time - begin.time

  uint64_t time() const { return end.time - begin.time; }
  // The thread executed on another stack within it: its own instructions are not one stretch.
  bool is_divided() const { return instructions != end_instruction - first_instruction; }
  uint64_t Of(TimeClass kind) const { return times[static_cast<size_t>(kind)]; }
};

// What instances are ranked by (--by).
enum class InstanceMeasure : uint8_t { kTime, kInstructions, kOffCpu, kKernel, kCycles };

uint64_t MeasureOf(const Instance& instance, InstanceMeasure measure);
// Returns the name as --by takes it: "time", "off-cpu", ...
const char* Name(InstanceMeasure measure);

}  // namespace flowback
