// SPDX-License-Identifier: MIT
#include "replay/debug/machine/never_ran.h"

#include <optional>

#include "flowback/replay/thread_cursor.h"

namespace flowback {

bool NeverRan(ReplayedMachine& machine, std::span<const uint64_t> addresses, uint64_t& budget) {
  FlowIndex& index = machine.index();
  for (size_t thread = 0; thread < machine.size(); ++thread) {
    // A run stops at the flow's end, too.
    const std::optional<uint64_t> end = machine.EndAddressOf(thread);
    for (const uint64_t address : addresses) {
      if (end == address) return false;
      uint64_t decoded = 0;
      for (const FlowShare& share : machine.thread(thread).shares)
        if (index.MayExecute(share, address)) decoded += share.instructions;
      if (decoded > budget) return false;
      budget -= decoded;
      ThreadCursor cursor(index, machine.thread(thread));
      const bool is_first = cursor.kind() == ThreadCursor::Kind::kInstruction &&
                            cursor.instruction().address == address;
      if (is_first || cursor.NextAt(address)) return false;
    }
  }
  return true;
}

bool HasLosses(const ReplayedMachine& machine) {
  for (size_t thread = 0; thread < machine.size(); ++thread)
    for (const FlowShare& share : machine.thread(thread).shares)
      if (share.losses != 0) return true;
  return false;
}

}  // namespace flowback
