// SPDX-License-Identifier: MIT
// Lists what the dying thread did before and what may have caused its death without a proof: blocks
// that it freed, and functions that it returned from.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "replay/crash/crash_report.h"
#include "replay/debug/values/past_values.h"

namespace flowback {

// Returns the calls that freed memory before the call in which the allocator ended the thread, the
// latest first. If the library's message says that a block was freed twice, and the block's address
// is proven, returns only the calls that freed this block since it was allocated. `past` may be
// null.
CrashFrees FreesBefore(const CrashInput& input, size_t dying, PastValues* past,
                       std::string_view message);

// Returns the functions outside of the C and C++ libraries that returned last or were left by a
// jump further out, the latest first, each once, with the last store of that call.
std::vector<CrashSuspect> ReturnedLast(const CrashInput& input, size_t dying, size_t most);

}  // namespace flowback
