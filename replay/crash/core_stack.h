// SPDX-License-Identifier: MIT
// The call stack that a core dump's registers and memory give, beside the flow's own.
//
// A debugger unwinds the dump by the tables of the code (DWARF call frame information), and shows
// what the program left in its stack. The flow counts the calls that executed. Where both know a
// frame and disagree, the stack in memory was overwritten, or the code changed how it unwinds, or
// the tables are wrong: which of them it was is not told. Frames of inlined functions have no
// return address and are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/model/code_mode.h"
#include "flowback/replay/thread_stack.h"
#include "replay/debug/end_core.h"

namespace flowback {

struct CoreStack {
  // Why no more frames are compared.
  enum class End : uint8_t {
    kDisagree,    // the frames at `compared` are not the same
    kOutermost,   // both stacks end
    kNoMemory,    // the dump lacks the memory of the next frame
    kNoTable,     // no table tells how the code of the last frame is unwound
    kFlowEnds,    // the flow knows no more frames
    kTooDeep,     // the stack has more frames than are compared
    kNoRegisters  // the dump lacks the thread's registers, or they are not those of the flow's end
  };

  std::vector<uint64_t> addresses;  // where each frame goes on, the innermost first
  // So many of them are those of the flow. Where the stacks disagree: the first frame that does.
  size_t compared = 0;
  End end = End::kNoRegisters;
};
// "disagree", ...
const char* Name(CoreStack::End end);

// How the thread came to its last place. Where that is no code, the frames are unwound from the
// transfer, since no table is about what lies elsewhere.
struct LastTransfer {
  enum class Kind : uint8_t { kOther, kCall, kReturn };
  Kind kind = Kind::kOther;
  uint64_t address = 0;  // of the call or return
};

// The frame of a signal's handler that died before its first instruction executed: the flow ends
// where the signal interrupted the thread, and the dump shows the handler's frame on top of that
// place. Empty: it does not show that.
std::optional<StackFrame> UnseenHandlerOf(const EndCore& core, int32_t tid, const ThreadStack& flow,
                                          CodeMode mode);

// `flow`: the thread's stack at its end; after a wild return, the one before that.
CoreStack CoreStackOf(const EndCore& core, int32_t tid, const ThreadStack& flow, CodeMode mode,
                      const LastTransfer& wild);

}  // namespace flowback
