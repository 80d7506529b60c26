// SPDX-License-Identifier: MIT
// Decides which kind of death it was.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "replay/crash/crash_report.h"

namespace flowback {

// Facts about a death beside the signal.
struct DeathFacts {
  const ProcessEnd& end;
  bool was_sent = false;     // no instruction raised the signal
  bool ends_itself = false;  // the thread was sending it
  bool has_code = true;      // where the thread stood
  bool on_stack = false;     // the access that failed is relative to the stack or frame pointer
  std::optional<uint64_t> stack_pointer{};
  bool stack_is_there = true;             // the stack pointer points at memory
  const std::vector<CrashPlace>& frames;  // the innermost first
};

CrashKind KindOf(const DeathFacts& facts);

// Returns the functions of the round of calls that the innermost frames repeat; empty: they repeat
// none.
std::vector<std::string> RecursionOf(const std::vector<CrashPlace>& frames);

// Whether the thread was sending a signal: the innermost frames are functions of that, it is
// in abort(), or its last system call is one of that.
bool EndsItself(const std::vector<CrashPlace>& frames, const std::vector<CrashSystemCall>& calls);

// The name of a C library's function without the marks of its inner copies: "raise" of
// "__GI_raise".
std::string_view OuterName(std::string_view function);

// Whether the function is abort().
bool IsAbort(const CrashPlace& frame);
// Whether the function is std::terminate().
bool IsTerminate(const CrashPlace& frame);

// Whether the function is the C or C++ library's part of ending a program because of a check: not
// the one that the check is about.
bool IsOfEnding(const CrashPlace& frame);

}  // namespace flowback
