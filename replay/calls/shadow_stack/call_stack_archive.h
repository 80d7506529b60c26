// SPDX-License-Identifier: MIT
// Stores a model of calls as bytes, and restores it.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/replay/call_stack.h"
#include "replay/flow/space_names.h"

namespace flowback {

class CallStackArchive {
 public:
  // Returns the complete state between two elements of the flow: all stacks, the guesses about
  // them, where the flow stopped. Two states whose stacks are the same below a call begin with the
  // same bytes. Options such as LookForExec are left out. Returns no bytes if an address space of
  // the calls is not in `spaces`.
  static std::vector<uint8_t> ToBytes(const CallStack& stack, const SpaceNames& spaces);
  // Restores such a state, also in another process with the same functions; what follows is then
  // reported as if the stack had received what came before. The listener is not called. Returns
  // false for other bytes, after which the stack is as after Finish. No bytes do harm.
  static bool FromBytes(CallStack& stack, Bytes bytes, const SpaceNames& spaces);
};

}  // namespace flowback
