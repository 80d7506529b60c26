// SPDX-License-Identifier: MIT
// What Linux calls a system call.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/linux/linux_calls.h"

namespace flowback {

// Empty: the kernel's headers of this table had no call of that number.
std::string_view LinuxCallName(uint32_t number, LinuxAbi abi);

}  // namespace flowback
