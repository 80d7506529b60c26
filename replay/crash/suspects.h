// SPDX-License-Identifier: MIT
// What the dying thread did before that may have to do with its death, where no value proves it:
// blocks that it freed, and functions that it returned from.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "replay/crash/crash_report.h"
#include "replay/debug/past_values.h"

namespace flowback {

// The calls that freed memory before the one in which the allocator ended the thread, the latest
// first. Where the library's message says that a block was freed twice, and that block is proven:
// those of the same block alone, if it was not allocated again since. `past` may be null.
CrashFrees FreesBefore(const CrashInput& input, size_t dying, PastValues* past,
                       std::string_view message);

// Functions outside of the C and C++ libraries that returned last, the latest first, each once.
std::vector<CrashPlace> ReturnedLast(const CrashInput& input, size_t dying, size_t most);

}  // namespace flowback
