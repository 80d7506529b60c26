// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/hex.h"
#include "cli/crash/crash_text.h"
#include "replay/session/stack_naming.h"

namespace flowback::cli {
namespace {

// The number with which the text shows a frame: inlined functions and handlers have their own.
size_t LevelOf(const ThreadStack& stack, size_t frame, Session& session) {
  StackNames names = StackNamesOf(session);
  size_t level = 0;
  for (size_t i = 0; i < frame && i < stack.frames.size(); ++i)
    level += names.Of(stack.frames[i]).size() + (stack.frames[i].is_handler ? 1 : 0);
  return level;
}

const char* EndWords(CoreStack::End end) {
  switch (end) {
    case CoreStack::End::kNoMemory:
      return "the dump lacks the memory of the next frame";
    case CoreStack::End::kNoTable:
      return "no table describes how to unwind the code of that frame";
    case CoreStack::End::kTooDeep:
      return "more frames are not compared";
    default:
      return nullptr;
  }
}

}  // namespace

std::string CoreStackText(const CrashReport& report, Session& session) {
  if (!report.core_stack || report.core_contradicts) return "";
  const CoreStack& core = *report.core_stack;
  const ThreadStack& flow = report.threads.front().stack;
  if (core.end == CoreStack::End::kDisagree) {
    const bool has_frame = core.compared < core.addresses.size();
    const std::string there =
        has_frame ? "it has " + Hex(core.addresses[core.compared]) + " there" : "it ends there";
    return fmt::format(
        "The core's stack disagrees from frame {} on ({}). The flow's is by the calls that "
        "executed; "
        "the core's is by what memory held at the end.\n",
        LevelOf(flow, core.compared, session), there);
  }
  const char* const why = EndWords(core.end);
  if (why == nullptr || core.compared == 0) return "";
  return fmt::format("The core's stack agrees up to frame {}. The comparison ends there: {}.\n",
                     LevelOf(flow, core.compared - 1, session), why);
}

}  // namespace flowback::cli
