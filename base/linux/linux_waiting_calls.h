// SPDX-License-Identifier: MIT
// Which system calls wait.
#pragma once

#include <cstdint>

#include "base/linux/linux_abi.h"

namespace flowback {

// futex, in all its forms.
bool IsFutexCall(uint32_t number, LinuxAbi abi);
// Whether a futex call of that operation, without flags, waits.
bool FutexWaits(uint8_t operation);
// Returns whether the call waits for an event, such as data to read, a connection or a child's end.
// It may also return at once.
bool CanBlock(uint32_t number, LinuxAbi abi);
// Whether a thread without work may stay in the call: one that can block, futex, or one that sleeps
// for a time.
bool CanIdle(uint32_t number, LinuxAbi abi);

}  // namespace flowback
