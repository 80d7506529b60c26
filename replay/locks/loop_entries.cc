// SPDX-License-Identifier: MIT
#include "replay/locks/loop_entries.h"

#include <algorithm>

namespace flowback {

uint64_t LoopEntries::ExecutionsOf(const Place& place, uint32_t thread) {
  Users& users = users_[place];
  const auto& all = blocks_.all();
  for (; users.looked_at < all.size(); ++users.looked_at) {
    const LoopBlock& block = all[users.looked_at];
    if (block.space == place.first && block.InstructionAt(place.second))
      users.blocks.push_back(&block);
  }
  uint64_t count = 0;
  for (const LoopBlock* block : users.blocks) count += block->executed.Of(thread);
  return count;
}

// One that is entered at its begin comes there once more often than it goes round. One that is
// entered in the middle comes to its branch once more often.
uint64_t LoopEntries::Of(const AddressSpace* space, uint64_t address, uint32_t thread) {
  uint64_t all_trips = 0;
  std::map<uint64_t, uint64_t> trips_by_branch;
  for (const WaitLoop& loop : loops_.all()) {
    if (loop.space() != space || loop.address() != address) continue;
    const uint64_t trips = loop.by_thread.Of(thread);
    all_trips += trips;
    trips_by_branch[loop.branch()] += trips;
  }
  const auto more = [](uint64_t executions, uint64_t trips) {
    return executions - std::min(executions, trips);
  };
  uint64_t entries = more(ExecutionsOf({space, address}, thread), all_trips);
  for (const auto& [branch, trips] : trips_by_branch)
    entries = std::max(entries, more(ExecutionsOf({space, branch}, thread), trips));
  return entries;
}

}  // namespace flowback
