// SPDX-License-Identifier: MIT
// What Linux's system calls may change of their caller, by the numbers of each machine.
#pragma once

#include <cstdint>

#include "flowback/model/code_mode.h"

namespace flowback::values {

// Whether the kernel writes to no memory of the caller in this call.
bool IsHarmlessCall(uint64_t number, CodeMode mode);

// Whether the call may set the base of FS or GS, or of AArch64 the thread pointer.
bool MaySetBases(uint64_t number, CodeMode mode);

}  // namespace flowback::values
