// SPDX-License-Identifier: MIT
// What the dying thread did before that may have to do with its death, where no value proves it:
// blocks that it freed, and functions that it returned from.
#pragma once

#include <cstddef>
#include <vector>

#include "replay/crash/crash_report.h"
#include "replay/debug/past_values.h"

namespace flowback {

// The calls that freed memory before the one in which the allocator ended the thread, the latest
// first. Where the block of that one is proven, and that of others, those of the same block alone.
// `past` may be null.
CrashFrees FreesBefore(const CrashInput& input, size_t dying, PastValues* past);

// Functions outside of the C and C++ libraries that returned last, the latest first, each once.
std::vector<CrashPlace> ReturnedLast(const CrashInput& input, size_t dying, size_t most);

}  // namespace flowback
