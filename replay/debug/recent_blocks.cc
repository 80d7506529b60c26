// SPDX-License-Identifier: MIT
#include "replay/debug/recent_blocks.h"

namespace flowback {

std::vector<InstructionBlock> RecentBlocks(ThreadWalk& walk, const RecentBounds& bounds) {
  std::vector<InstructionBlock> blocks = {{.first = walk.pc(), .last = walk.pc()}};
  for (uint64_t taken = 0; taken < bounds.instructions; ++taken) {
    Passed passed;
    if (!walk.Previous(&passed) || passed.loss || passed.unknown) break;
    const CursorInstruction& before = walk.instruction();
    if (before.address + before.length == blocks.back().first) {
      blocks.back().first = before.address;
      continue;
    }
    if (blocks.size() >= bounds.blocks) break;
    blocks.push_back({.first = before.address, .last = before.address});
  }
  return blocks;
}

}  // namespace flowback
