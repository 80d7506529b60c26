// SPDX-License-Identifier: MIT
// Stops threads before chosen instructions by the processor's debug registers.
//
// They are each thread's own and change no memory: other threads pass the same code undisturbed. A
// new thread has none, and execve takes them away.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback::record {

inline constexpr size_t kMaxBreakPoints = 4;

// The traced thread, which is stopped, is to stop with SIGTRAP before it executes any of these, at
// most kMaxBreakPoints, instructions. False: the thread or the machine can't.
bool SetBreakPoints(pid_t tid, const std::vector<uint64_t>& addresses);
// Whether a SIGTRAP's si_code says that it was one of them.
bool IsBreakPoint(int code);

// Tries it with a child: some virtual machines have no debug registers, or never stop.
bool BreakPointsWork();

}  // namespace flowback::record
