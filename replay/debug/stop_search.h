// SPDX-License-Identifier: MIT
// Finds the next or previous place of one thread at which a run stops. Shares of which the index
// knows that nothing in them stops it are not decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replay/debug/thread_walk.h"

namespace flowback {

enum class Direction : uint8_t { kForward, kBackward };

// What a run stops at.
struct StopMarks {
  std::vector<uint64_t> addresses{};  // sorted; of instructions, which have not executed there
  bool losses = false;                // where flow is missing
  std::function<bool(const TraceEvent&)> events{};  // empty: none

  bool HasAddress(uint64_t address) const;
  bool empty() const { return addresses.empty() && !losses && !events; }
};

// Asked before each share is decoded and now and then while one is searched; false ends the search.
using KeepOn = std::function<bool()>;

struct FoundStop {
  enum class Kind : uint8_t { kAddress, kLoss, kEvent, kNone, kInterrupted };
  Kind kind = Kind::kNone;
  std::optional<DataLoss> loss{};
  std::optional<TraceEvent> event{};
};

// Moves the walk on to the next place behind the one at hand that stops the run: at an address, or
// the first place behind a loss or an event. Shares that begin after `last_tsc` are not searched.
// Without a stop the walk returns to where it was.
FoundStop ToNextStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                     uint64_t last_tsc, const KeepOn& keep_on);
// The same backward: at an address, or the last place before a loss or an event. Shares that end
// before `first_tsc` are not searched.
FoundStop ToPreviousStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                         uint64_t first_tsc, const KeepOn& keep_on);

}  // namespace flowback
