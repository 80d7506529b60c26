// SPDX-License-Identifier: MIT
// What Linux's system calls may change of their caller, by the numbers of each machine.
#pragma once

#include <cstdint>
#include <optional>

#include "flowback/model/code_mode.h"

namespace flowback::values {

// Whether the kernel writes to no memory of the caller in this call.
bool IsHarmlessCall(uint64_t number, CodeMode mode);

// What is known of a system call's arguments on x86-64.
struct WaitArguments {
  uint64_t number = 0;
  std::optional<uint64_t> second{};  // its low half
  bool second_is_null = false;
  bool third_is_null = false;
  bool fourth_is_null = false;
};
// Of x86-64, a call about waiting or signals: whether the kernel writes to no memory of the caller
// because of the arguments.
bool WaitsOnly(const WaitArguments& call);

// Whether the call may set the base of FS or GS, or of AArch64 the thread pointer.
bool MaySetBases(uint64_t number, CodeMode mode);

}  // namespace flowback::values
