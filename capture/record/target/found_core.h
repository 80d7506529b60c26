// SPDX-License-Identifier: MIT
// Where the kernel put the core dump of a process that has just died.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace flowback::record {

// The folder that the process works in; empty: it is gone, or a zombie.
std::string FolderOf(pid_t pid);

// Returns the file that the kernel has just dumped into, and which names that process itself.
// Empty: no such file was found. The process must not have been waited for. `folder`: the process's
// working folder, for a name that is not absolute.
std::string FindCore(pid_t pid, pid_t tid, int signal, const std::string& folder);

// Returns the thread that the signal killed, by the dump; -1: unknown.
int32_t DumpedThread(const std::string& core);

}  // namespace flowback::record
