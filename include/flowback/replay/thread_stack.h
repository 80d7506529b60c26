// SPDX-License-Identifier: MIT
// A thread's call stack at a place of its flow, as a debugger would have shown it there.
//
//   const auto stack = session.StackAt(thread, {.kind = StackPlace::Kind::kEnd});
//
// The flow after a place counts, too: a caller that was not seen calling is found when control
// returns to it.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/execution.h"
#include "flowback/replay/call_stack.h"

namespace flowback {

struct StackPlace {
  enum class Kind : uint8_t {
    kInstruction,  // before the thread's instruction of that number, from 0
    kTime,         // before the first element whose time is not before that TSC
    kEnd,          // behind all
  };
  Kind kind = Kind::kEnd;
  uint64_t value = 0;
};

struct StackFrame {
  // Address of the next instruction of the frame; 0: unknown.
  uint64_t address = 0;
  const AddressSpace* space = nullptr;
  uint64_t entry_ip = 0;  // the first instruction of the call that was seen; 0: none was
  // `address` is where control had come to, not where a call returns to: in the innermost frame,
  // and in a frame that a signal or an interrupt interrupted.
  bool is_exact = false;
  bool is_handler = false;  // the kernel made the call: of a signal, an interrupt
  // The thread had come back to one of several stacks that it had left at the same place. Which one
  // is unknown; the frame belongs to the one left first.
  bool is_guess = false;
  // Calls like the one of this frame repeat between it and the next frame; how many, is not known.
  bool repeats = false;
};

struct ThreadStack {
  // Why there may be more outside of the outermost frame.
  enum class Outside : uint8_t {
    kNothing,      // there is not: the thread, or its program, began there
    kNotRecorded,  // the trace began inside of it, or its stack was made by what did not return
    kLost,         // the flow before was lost, at `loss`
    kNotBegun,     // the thread's flow begins behind the place
  };

  StackPlace place;
  uint64_t instructions = 0;  // of the thread, before the place
  uint64_t tsc = 0;           // known last there; 0: none
  bool reached = true;        // false: the flow ends before the place; it is the stack at the end
  bool in_kernel = false;     // or elsewhere in untraced code
  uint32_t stack = 0;         // as CallStack::stack
  std::vector<StackFrame> frames;  // the innermost first
  Outside outside = Outside::kNotRecorded;
  DataLoss loss;
  std::vector<Call> calls;  // the outermost first; where Options::keep_calls
};

}  // namespace flowback
