// SPDX-License-Identifier: MIT
// Places of a thread that stop a run by themselves: where its flow begins and ends, and where it
// becomes another program (exec).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "replay/debug/machine/stop_search.h"
#include "replay/debug/machine/thread_walk.h"

namespace flowback {

struct Milestone {
  MilestoneKind kind{};
  uint64_t number = 0;  // of the place, as ThreadWalk::number
};

// Returns the milestones of a thread, in the order of its flow. Moves the walk, and decodes a few
// segments for each program.
std::vector<Milestone> MilestonesOf(ThreadWalk& walk);

// Returns the nearest milestone that stops a run from the place of that number on, and where the
// run stops: going back over the begin of a program, at the last place of the one before. `counts`:
// the place itself lies ahead.
std::optional<Milestone> NearestMilestone(const std::vector<Milestone>& milestones,
                                          Direction direction, const StopMarks& marks,
                                          uint64_t from, bool counts);

}  // namespace flowback
