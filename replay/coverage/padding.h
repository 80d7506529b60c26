// SPDX-License-Identifier: MIT
// Bytes that only fill the space up to where code begins again.
#pragma once

#include <cstddef>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// Returns the size of the padding instruction at the start of `code`: NOP of any length, INT3, and
// the LEA of a register to itself that assemblers write into 32-bit code. 0: the code begins with
// no padding.
size_t PaddingInstruction(Bytes code, CodeMode mode);

// Returns how many bytes at the start of `code` are padding: instructions that fill space, and
// zeros if nothing else follows.
size_t PaddingLength(Bytes code, CodeMode mode);

}  // namespace flowback
