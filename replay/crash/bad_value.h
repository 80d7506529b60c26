// SPDX-License-Identifier: MIT
// The value that a death is about where no access failed: the target of a jump to where no code is,
// and the guard of a stack frame that was overwritten.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replay/crash/crash_report.h"
#include "replay/crash/end_stack.h"
#include "replay/debug/past_values.h"

namespace flowback {

struct BadValue {
  std::string name;     // in words: "rdx", "the return address at 0x7ffe0010"
  ValueQuestion value;  // a register, or memory
  uint64_t before = 0;  // the thread's instruction ahead of which the value is asked for
};

// What the last instruction, a jump, call or return, took its target from.
std::optional<BadValue> BadTargetOf(PastValues& past, const MachineThread& thread,
                                    const LastInstruction& last);

// What the function loaded from its frame to compare it with the thread's guard, before it called
// __stack_chk_fail, to return to `after_call`.
std::optional<BadValue> BrokenGuardOf(PastValues& past, const MachineThread& thread,
                                      uint64_t after_call);

}  // namespace flowback
