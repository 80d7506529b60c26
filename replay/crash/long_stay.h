// SPDX-License-Identifier: MIT
// Finds the function that a thread did not leave for very long: it has an endless loop, or waits
// again and again in functions that it calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "replay/crash/crash_report.h"

namespace flowback {

// The number of a thread's last instructions to look at.
inline constexpr uint64_t kLongStay = 2'000'000;

// The innermost frame of the stack at the end of a thread's flow that was there during the last
// kLongStay instructions. Empty: the thread executed fewer, a part of them is lost, or the frame is
// not known.
std::optional<CrashStay> LongStayOf(const CrashInput& input, size_t thread,
                                    const ThreadStack& stack);

}  // namespace flowback
