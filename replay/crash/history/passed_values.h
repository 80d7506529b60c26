// SPDX-License-Identifier: MIT
// What a call was given and what it returned, by the calling convention of the machine, as far as
// the value engine proves it.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/crash/history/last_calls.h"
#include "replay/debug/values/past_values.h"

namespace flowback {

// An argument that is a number of a register's size, counted from 0. 32-bit x86 passes arguments on
// the stack: of several threads it is what this one had stored there last, as if no other one wrote
// to its stack.
std::optional<uint64_t> ArgumentOf(PastValues& past, const MachineThread& thread,
                                   const LastCall& call, unsigned number,
                                   Trust trust = Trust::kProven);

// REQUIRES: the call has returned.
std::optional<uint64_t> ResultOf(PastValues& past, const MachineThread& thread,
                                 const LastCall& call);

}  // namespace flowback
