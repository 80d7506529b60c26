// SPDX-License-Identifier: MIT
// A core dump without what a program had in memory, but for its stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback {

// A core dump of the same process that has its notes (registers, the process's command line, the
// names of mapped files), of each thread's stack what is in use, and the first page of each mapped
// ELF file, which has its build-id. All other memory is told to be there, and not told of. `name`
// is for messages. Errors: as ReadCore's; kUnsupported for other machines than x86-64 and AArch64.
Result<std::vector<uint8_t>> RedactCore(Bytes core, const std::string& name);

}  // namespace flowback
