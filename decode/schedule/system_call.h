// SPDX-License-Identifier: MIT
// Which system call a thread made, as far as the code before it tells.
#pragma once

#include <cstdint>
#include <optional>

#include "flowback/model/execution.h"

namespace flowback {

struct SystemCall {
  uint32_t number = 0;
  bool i386 = false;  // by the 32-bit table, INT 80h's; else by x86-64's
};

// The system call that ends the run, by SYSCALL or INT 80h. The number is known only directly
// behind `mov eax, NUMBER`: empty where another instruction set it, or the run ends in neither.
std::optional<SystemCall> SystemCallOf(const BlockRun& run);

// The run ends in a SYSCALL or an INT 80h, behind which the thread goes on.
bool EndsInSystemCall(const BlockRun& run);

}  // namespace flowback
