// SPDX-License-Identifier: MIT
// Which system call a thread made, as far as the code before the call shows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/linux/linux_calls.h"
#include "flowback/model/execution.h"

namespace flowback {

struct SystemCall {
  uint32_t number = 0;
  LinuxAbi abi = LinuxAbi::kX86_64;  // in whose table the number stands

  bool IsOneOf(std::initializer_list<LinuxCall> calls) const {
    return flowback::IsOneOf(number, abi, calls);
  }
};

// The system call that ends the run, by SYSCALL, INT 80h or SVC. The number is known only where one
// of the last instructions of the run set it to a constant: else it is empty, as where the run ends
// in neither.
std::optional<SystemCall> SystemCallOf(const BlockRun& run);

// The run ends in a SYSCALL, an INT 80h or an SVC, behind which the thread goes on.
bool EndsInSystemCall(const BlockRun& run);

// By which table a call goes that the run's last instruction makes. That may also be a SYSENTER, or
// a SYSCALL of 32-bit code, from which the thread comes back elsewhere. Empty: it makes none.
std::optional<LinuxAbi> AbiOfLastCall(const BlockRun& run);

// The run begins where a SYSCALL returns to.
bool BeginsBehindSyscall(const BlockRun& run);

}  // namespace flowback
