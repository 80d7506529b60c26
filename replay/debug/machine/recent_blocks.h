// SPDX-License-Identifier: MIT
// What a thread executed last before a place, as debuggers take a branch trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/debug/machine/thread_walk.h"

namespace flowback {

// Instructions that lie one behind the other and executed in that order.
struct InstructionBlock {
  uint64_t first = 0;  // address of the first instruction
  uint64_t last = 0;   // address of the last one
};

// How far back to look.
struct RecentBounds {
  size_t blocks = 0;
  uint64_t instructions = uint64_t{1} << 20;
};

// Returns the blocks that lead to the place where the walk stands, the latest one first. The latest
// ends with the instruction at hand, which has not executed. Nothing is missing between two blocks:
// the list ends at a loss, at flow that was not recorded, and
// ahead of instructions in whose place other code is now. Moves the walk.
std::vector<InstructionBlock> RecentBlocks(ThreadWalk& walk, const RecentBounds& bounds);

}  // namespace flowback
