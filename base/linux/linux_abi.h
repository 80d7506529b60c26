// SPDX-License-Identifier: MIT
// How a program was made for Linux, as far as it shows in the numbers of system calls.
#pragma once

#include <cstdint>

namespace flowback {

// By which table a system call is numbered: SYSCALL of 64-bit x86 code goes by the first, INT 80h
// and 32-bit code by the second, SVC of AArch64 code by the third.
enum class LinuxAbi : uint8_t { kX86_64, kI386, kAArch64 };

}  // namespace flowback
