// SPDX-License-Identifier: MIT
// The system call that a thread is about to make.
//
// Most calls are made by an instruction of the flow. INT 80h is none: as Intel PT has it, the flow
// stops ahead of it and goes on behind it. Such a call is made at the last place before it, or, if
// the flow ends there, at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/debug/machine/thread_walk.h"

namespace flowback {

struct CallHere {
  // By the table that the code's mode has. Empty: the instructions ahead do not prove it.
  std::optional<uint32_t> number{};
};

// Returns the call that the thread makes before it comes to the next place. Empty: it makes none.
// The walk stays where it is.
std::optional<CallHere> CallAt(ThreadWalk& walk);

// Returns whether the instruction at the address is INT 80h.
bool IsTrap(const AddressSpace* space, CodeMode mode, uint64_t address);

}  // namespace flowback
