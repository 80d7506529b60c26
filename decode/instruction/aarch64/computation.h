// SPDX-License-Identifier: MIT
// decode/instruction/computation.h and stack_use.h for AArch64. Neither the jump tables nor the
// switches of stacks of AArch64 are seen through: nothing is told of them, and where an indirect
// jump leads is not known from the code.
#pragma once

#include <cstdint>
#include <span>

#include "decode/instruction/computation.h"
#include "decode/instruction/stack_use.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

inline Computation ComputationOf(Bytes, uint64_t, CodeMode) {
  Computation unknown;
  unknown.writes = ~uint32_t{0};
  return unknown;
}
inline StackUse StackUseOf(Bytes, std::span<const uint8_t>, CodeMode) { return {}; }

}  // namespace flowback::aarch64
