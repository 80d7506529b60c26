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
// names of mapped files), the part in use of the first thread's stack, 64 KiB of each other
// thread's stack from its stack pointer up, and the first page of each mapped ELF file, which has
// its build-id. The contents of all other memory are left out. `name` is for messages. Errors: as
// ReadCore's, and kUnreadable where headers name the same bytes of it again and again.
Result<std::vector<uint8_t>> RedactCore(Bytes core, const std::string& name);

}  // namespace flowback
