// SPDX-License-Identifier: MIT
// Taking hold of programs that run already.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "flowback/base/error.h"

namespace flowback::record {

struct SeizedThread {
  pid_t pid = -1;
  pid_t tid = -1;
};

// Seizes all threads of the processes `pids`, and the threads `tids`, and has them stop: each by
// itself, soon, and in the kernel where it waits there. The calling thread traces them and must
// have no other children. Errors, after which nothing is held: kSystem (no such process, a zombie),
// kUnsupported (a thread of the kernel, this program itself), kUsage (`pids` names a thread), kBusy
// (traced by another), kPermission.
Result<std::vector<SeizedThread>> SeizeThreads(const std::vector<int32_t>& pids,
                                               const std::vector<int32_t>& tids,
                                               long ptrace_options);

// Lets go all that the calling thread traces, as it was.
void ReleaseAll();

}  // namespace flowback::record
