// SPDX-License-Identifier: MIT
// A copy of the code that the kernel runs, beside the recording: its trace can't be read without.
#pragma once

#include <string>

#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"

namespace flowback::record {

// Writes `folder`, which is made, as `perf record --kcore` does: /proc/kallsyms and /proc/modules
// as they are, and of /proc/kcore the kernel's text and the modules, with the notes that identify
// the kernel. It is made anew where modules came or went meanwhile. Errors: kPermission where the
// kernel keeps its memory or addresses to itself, kUnreadable, kSystem.
Status CopyKernel(const kernel::SystemKernel& kernel, const std::string& folder);

}  // namespace flowback::record
