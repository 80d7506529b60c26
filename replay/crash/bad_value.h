// SPDX-License-Identifier: MIT
// Finds the value that caused a death without a failed access: the target of a jump to an address
// without code, or the overwritten guard of a stack frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replay/crash/crash_report.h"
#include "replay/crash/end_stack.h"
#include "replay/debug/values/past_values.h"

namespace flowback {

struct BadValue {
  std::string name;              // in words: "rdx", "the return address at 0x7ffe0010"
  ValueQuestion value;           // a register, or memory
  uint64_t before = 0;           // the value is wanted ahead of this instruction of the thread
  Trust trust = Trust::kProven;  // that its address rests on
  // For a guard: the instruction after which the frame had it. Empty: unknown.
  std::optional<uint64_t> intact{};
};

// Returns where the last instruction, a jump, call or return, took its target from.
std::optional<BadValue> BadTargetOf(PastValues& past, const MachineThread& thread,
                                    const LastInstruction& last);

// Returns the guard in the frame of the function that called __stack_chk_fail. That call would have
// returned to `after_call`. `program_guard`: the
// address of the variable __stack_chk_guard, which the libraries of AArch64 have.
std::optional<BadValue> BrokenGuardOf(PastValues& past, const MachineThread& thread,
                                      uint64_t after_call, std::optional<uint64_t> program_guard);

}  // namespace flowback
