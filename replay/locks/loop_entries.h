// SPDX-License-Identifier: MIT
// How often a thread came to a loop that waits, whether it had to wait or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/locks/loop_blocks.h"
#include "replay/locks/wait_loops.h"

namespace flowback {

class LoopEntries {
 public:
  // Both must outlive it.
  LoopEntries(const LoopBlocks& blocks, const WaitLoops& loops) : blocks_(blocks), loops_(loops) {}

  // Of the loops that begin at `address`, in the flow of the thread of that number (SpinFinder's)
  // so far.
  uint64_t Of(const AddressSpace* space, uint64_t address, uint32_t thread);

 private:
  // Blocks that have an instruction.
  struct Users {
    std::vector<const LoopBlock*> blocks;
    size_t looked_at = 0;  // of LoopBlocks::all
  };
  using Place = std::pair<const AddressSpace*, uint64_t>;

  uint64_t ExecutionsOf(const Place& place, uint32_t thread);

  const LoopBlocks& blocks_;
  const WaitLoops& loops_;
  std::map<Place, Users> users_;
};

}  // namespace flowback
