// SPDX-License-Identifier: MIT
// A ShareWalk's listener along a thread's flow: it follows the thread's calls, and can continue
// after skipped flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/player.h"
#include "replay/calls/shadow_stack/stack_leap.h"
#include "replay/flow/space_names.h"

namespace flowback {

class LeapingPlayer : public PlayConsumer {
 public:
  // True if it needs no more flow.
  virtual bool TookAll() const { return false; }
  // The calls that the thread is in, the outermost first, and the address of the instruction with
  // which it goes on; 0: not known.
  virtual const std::vector<Call>& calls() const = 0;
  virtual uint64_t next() const = 0;
  // As StackLeaper has them.
  virtual bool MayLeap() const = 0;
  virtual size_t NoLeapBelow() const = 0;
  virtual bool Leap(const StackLeap& leap) = 0;
  // Where each call was made matters, also of one that a jump to another function replaces.
  virtual bool NeedsSites() const { return false; }
  // Leaps may turn out to be wrong: it keeps what it is now. False: it can't, and must not leap.
  virtual bool Keep(const SpaceNames& spaces) = 0;
  // They were; it is what it was when that was kept, or no use any more.
  virtual void GoBack(const SpaceNames& spaces) = 0;
};

}  // namespace flowback
