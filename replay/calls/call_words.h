// SPDX-License-Identifier: MIT
// What `decode --as calls` calls the ways in which calls begin and end.
#pragma once

#include <string>
#include <string_view>

#include "base/linux/linux_call_names.h"
#include "flowback/replay/call_stack.h"

namespace flowback {

inline std::string_view CallEntryWord(CallEntry entry) {
  switch (entry) {
    case CallEntry::kCall:
      return "call";
    case CallEntry::kTailCall:
      return "tail-call";
    case CallEntry::kRunning:
      return "running";
    case CallEntry::kReturnedTo:
      return "returned-to";
    case CallEntry::kHandler:
      return "handler";
    case CallEntry::kNewStack:
      return "new-stack";
  }
  return "-";
}

inline std::string_view CallExitWord(CallExit exit) {
  switch (exit) {
    case CallExit::kReturn:
      return "return";
    case CallExit::kTailCall:
      return "tail-call";
    case CallExit::kUnwound:
      return "unwound";
    case CallExit::kLost:
      return "lost";
    case CallExit::kReplaced:
      return "replaced";
    case CallExit::kEnd:
      return "trace-end";
    case CallExit::kPaused:
      return "paused";
  }
  return "-";
}

inline std::string_view GapCauseWord(UntracedGap::Cause cause) {
  switch (cause) {
    case UntracedGap::Cause::kSystemCall:
      return "system-call";
    case UntracedGap::Cause::kAsync:
      return "interrupt-or-fault";
    case UntracedGap::Cause::kFilter:
      return "filtered";
  }
  return "-";
}

// Returns Linux's name of the system call behind which the gap is; empty if it is not known.
inline std::string_view NameOfCall(const UntracedGap& gap) {
  if (!gap.call_number) return {};
  return LinuxCallName(*gap.call_number, gap.call_abi);
}

// Returns how timelines and formats of calls name a system call: "read (system call)", "system call
// 999" if Linux's table has no name for the number, "system call" if the number is not known.
inline std::string SystemCallTitle(const UntracedGap& gap) {
  const std::string_view name = NameOfCall(gap);
  if (!name.empty()) return std::string(name) + " (system call)";
  return gap.call_number ? "system call " + std::to_string(*gap.call_number) : "system call";
}

}  // namespace flowback
