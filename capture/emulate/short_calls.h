// SPDX-License-Identifier: MIT
// System calls of 32-bit programs, in terms of those of 64-bit ones.
#pragma once

#include "capture/emulate/emulated_process.h"
#include "capture/emulate/guest.h"

namespace flowback::emulate {

// Calls that 64-bit programs have not, and that matter. No kernel gives a call such a number.
inline constexpr int64_t kOldSigaction = -1000;
inline constexpr int64_t kOldSignal = -1001;
inline constexpr int64_t kOtherShortCall = -1002;  // none that matters

// `made` as a 64-bit program would make it; `memory`: the program's, for arguments that lie there.
GuestCall AsLongCall(const GuestCall& made, const GuestMemory& memory);

}  // namespace flowback::emulate
