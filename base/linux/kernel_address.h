// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace flowback {

// Linux has the kernel in the upper half of the addresses, on x86-64 and AArch64 alike.
constexpr bool IsKernelAddress(uint64_t address) { return address >> 63 != 0; }

}  // namespace flowback
