// SPDX-License-Identifier: MIT
// Stacks as they are printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/text/output.h"
#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"
#include "flowback/replay/threads.h"
#include "replay/calls/stack_names.h"

namespace flowback::cli {

struct ShownStack {
  const StreamOwner& owner;
  std::string_view comm;  // empty: not known
  const ThreadStack& stack;
};

struct StackStyle {
  StackNames& names;
  const RecordingClock& clock;
  bool json = false;
};

void PrintStackHeader(const Recording& recording, bool json, Output& output);
// As gdb's `bt` has it.
void PrintStackText(const ShownStack& shown, const StackStyle& style, Output& output);
// One object.
void PrintStackJson(const ShownStack& shown, const StackStyle& style, Output& output);

}  // namespace flowback::cli
