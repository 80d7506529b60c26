// SPDX-License-Identifier: MIT
// decode/instruction/computation.h and stack_use.h for AArch64. Switches of stacks are not seen
// through: nothing is told of them.
#pragma once

#include <cstdint>
#include <span>

#include "decode/instruction/computation.h"
#include "decode/instruction/stack_use.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

// Register 31 of an encoding is the stack pointer or zero: neither has a number here.
Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode);
inline StackUse StackUseOf(Bytes, std::span<const uint8_t>, CodeMode) { return {}; }

}  // namespace flowback::aarch64
