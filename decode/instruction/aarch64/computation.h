// SPDX-License-Identifier: MIT
// decode/instruction/computation.h for AArch64.
#pragma once

#include <cstdint>

#include "decode/instruction/computation.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

// Register 31 of an encoding is the stack pointer or zero: neither has a number here.
Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode);

}  // namespace flowback::aarch64
