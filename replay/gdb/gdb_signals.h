// SPDX-License-Identifier: MIT
// gdb's protocol has signal numbers of its own.
#pragma once

namespace flowback::gdb {

// Returns gdb's number of a signal of Linux on x86 or AArch64; gdb's "unknown signal" for others.
int GdbSignal(int signal);

}  // namespace flowback::gdb
