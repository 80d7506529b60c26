// SPDX-License-Identifier: MIT
// Compares the call stack in a core dump with the flow's own.
//
// A debugger unwinds the dump by the tables of the code (DWARF call frame information), and shows
// what the program left in its stack. The flow counts the calls that executed. If both know a frame
// and disagree, the stack in memory was overwritten, or the code changed how it unwinds, or the
// tables are wrong. The comparison does not find out which. Frames of inlined functions have no
// return address and are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/model/code_mode.h"
#include "flowback/replay/thread_stack.h"
#include "replay/debug/values/end_core.h"

namespace flowback {

struct CoreStack {
  // Why no more frames are compared.
  enum class End : uint8_t {
    kDisagree,    // the frames at `compared` are not the same
    kOutermost,   // both stacks end
    kNoMemory,    // the dump lacks the memory of the next frame
    kNoTable,     // no table describes how to unwind the last frame
    kFlowEnds,    // the flow knows no more frames
    kTooDeep,     // the stack has more frames than are compared
    kNoRegisters  // the dump lacks the thread's registers, or they are not those of the flow's end
  };

  std::vector<uint64_t> addresses;  // where each frame goes on, the innermost first
  // The number of frames that agree with the flow. If the stacks disagree: the number of the first
  // frame that does.
  size_t compared = 0;
  End end = End::kNoRegisters;
};
// "disagree", ...
const char* Name(CoreStack::End end);

// How the thread came to its last place. If that place is no code, the unwinder begins at the
// transfer, because no table describes the place.
struct LastTransfer {
  enum class Kind : uint8_t { kOther, kCall, kReturn };
  Kind kind = Kind::kOther;
  uint64_t address = 0;  // of the call or return
};

// Returns the frame of a signal handler that died before its first instruction executed. The flow
// ends where the signal interrupted the thread; only the dump shows the handler's frame. Empty: the
// dump shows no such frame.
std::optional<StackFrame> UnseenHandlerOf(const EndCore& core, int32_t tid, const ThreadStack& flow,
                                          CodeMode mode);

// `flow`: the thread's stack at its end, or before a wild return.
CoreStack CoreStackOf(const EndCore& core, int32_t tid, const ThreadStack& flow, CodeMode mode,
                      const LastTransfer& wild);

}  // namespace flowback
