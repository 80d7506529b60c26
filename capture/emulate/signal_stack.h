// SPDX-License-Identifier: MIT
// Where a signal handler's stack lies.
#pragma once

#include "capture/emulate/guest.h"

namespace flowback::emulate {

// Moves a signal frame of a 64-bit x86 program by 8 bytes where the emulator laid it 8 bytes too
// high, and the registers that point to it with it. `registers` are those at the first instruction
// of a handler. Returns whether the frame was moved; a handler that was called as a function, or
// whose stack is right, stays as it is.
//
// The kernel begins a handler as a call does: the stack pointer is 8 bytes below a multiple of 16.
// QEMU before 8.1 begins it at the multiple itself, and handlers that keep vectors on their stack
// die of that: MOVAPS refuses such an address. (libuv's do, and with them ctest and node.)
bool AlignSignalStack(GuestRegisters& registers, const GuestMemory& memory);

}  // namespace flowback::emulate
