// SPDX-License-Identifier: MIT
// Where a thread's flow goes on behind shares that were not played.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/call_stack.h"

namespace flowback {

// RBP, as StackUse numbers it.
inline constexpr uint8_t kFramePointer = 5;

// The stack at a place of the flow, as far as what comes next needs it.
struct StackLeap {
  // The number of outermost calls that are still the same.
  size_t keep = 0;
  // Calls that are open at the place and not known: they return, or are replaced, in what comes
  // next. The outermost first.
  struct Unknown {
    uint64_t return_address = 0;
    uint64_t address = 0;  // code of its function
  };
  std::vector<Unknown> unknown;
  // The call that is the innermost where the fewest are open, counted from the outermost one, where
  // it returns to, and code that it executes then.
  size_t lowest = 0;
  uint64_t lowest_return = 0;
  uint64_t lowest_address = 0;
  uint64_t instructions = 0;  // of the thread, before the place
};

// Makes a CallStack leap.
class StackLeaper {
 public:
  // Whether it may: the thread has been on one stack only, and nothing is guessed.
  static bool MayLeap(const CallStack& stack);
  // Returns a number of calls. The stack must not leap over flow in which this many calls or fewer
  // are open at some time.
  static size_t NoLeapBelow(const CallStack& stack);
  // REQUIRES: MayLeap; the stack has at least leap.keep calls. False, and nothing is done: a call
  // of another function is open where `lowest_address` is to execute.
  static bool Leap(CallStack& stack, const StackLeap& leap);
  // Goes on with code at `address`, in a call about which no more is known. REQUIRES: MayLeap.
  static void BeginAnew(CallStack& stack, const AddressSpace* space, uint64_t address,
                        uint64_t instructions);
};

}  // namespace flowback
