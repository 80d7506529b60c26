// SPDX-License-Identifier: MIT
// Finds the next or previous place of one thread at which a run stops. Shares in which nothing
// stops it, as the index shows, are not decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replay/debug/machine/calls_here.h"
#include "replay/debug/machine/thread_walk.h"

namespace flowback {

enum class Direction : uint8_t { kForward, kBackward };

// Places of a thread that stop a run by themselves (replay/debug/machine/milestones.h).
enum class MilestoneKind : uint8_t { kThreadBegin, kThreadEnd, kProgram };

// What a run stops at.
struct StopMarks {
  std::vector<uint64_t> addresses{};  // sorted; of instructions, which have not executed there
  bool losses = false;                // where flow is missing
  bool unknown = false;               // where what ran between two samples is not known
  // System calls, at the instruction that makes one. None: no list; all: an empty list. Where the
  // code does not prove which call it is, only an empty list stops the run.
  std::optional<std::vector<uint32_t>> calls{};
  std::function<bool(const TraceEvent&)> events{};  // empty: none
  std::vector<MilestoneKind> milestones{};

  bool HasAddress(uint64_t address) const;
  bool HasCall(const CallHere& call) const;
  bool HasMilestone(MilestoneKind kind) const;
  // Nothing stops a run but milestones.
  bool no_search() const { return addresses.empty() && !losses && !unknown && !events && !calls; }
  bool empty() const { return no_search() && milestones.empty(); }
};

// Asked before each share is decoded and now and then while one is searched; false ends the search.
using KeepOn = std::function<bool()>;

struct FoundStop {
  enum class Kind : uint8_t { kAddress, kLoss, kUnknown, kEvent, kNone, kInterrupted };
  Kind kind = Kind::kNone;
  std::optional<DataLoss> loss{};
  std::optional<TraceEvent> event{};
  std::optional<uint32_t> call{};  // of kAddress, where a system call stops: its number, if proven
};

// What stops a run where the walk stands: an address, a call, or nothing.
FoundStop StopAtHand(ThreadWalk& walk, const StopMarks& marks);

// Moves the walk on to the next place behind the one at hand that stops the run: at an address, or
// the first place behind a loss, an unknown part or an event. Shares that begin after `last_tsc`
// are not searched. Without a stop the walk returns to where it was.
FoundStop ToNextStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                     uint64_t last_tsc, const KeepOn& keep_on);
// The same backward: at an address, or the last place before a loss, an unknown part or an event.
// Shares that end before `first_tsc` are not searched.
FoundStop ToPreviousStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                         uint64_t first_tsc, const KeepOn& keep_on);

}  // namespace flowback
