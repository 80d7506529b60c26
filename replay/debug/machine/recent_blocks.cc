// SPDX-License-Identifier: MIT
#include "replay/debug/machine/recent_blocks.h"

#include <array>

namespace flowback {
namespace {

// Whether the code of the instruction is the same in another address space: a debugger that lists
// it reads the code of the moment at which it stands.
bool IsCodeOf(const AddressSpace* space, const CursorInstruction& one) {
  if (one.space == space) return true;
  constexpr size_t kLongest = 15;
  std::array<uint8_t, kLongest> then{};
  std::array<uint8_t, kLongest> now{};
  if (one.space == nullptr || space == nullptr || one.length > kLongest) return false;
  return one.space->Read(one.address, then.data(), one.length) == one.length &&
         space->Read(one.address, now.data(), one.length) == one.length && then == now;
}

}  // namespace

std::vector<InstructionBlock> RecentBlocks(ThreadWalk& walk, const RecentBounds& bounds) {
  std::vector<InstructionBlock> blocks = {{.first = walk.pc(), .last = walk.pc()}};
  const AddressSpace* const space = walk.instruction().space;
  for (uint64_t taken = 0; taken < bounds.instructions; ++taken) {
    Passed passed;
    if (!walk.Previous(&passed) || passed.loss || passed.unknown) break;
    const CursorInstruction& before = walk.instruction();
    if (!IsCodeOf(space, before)) break;
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
