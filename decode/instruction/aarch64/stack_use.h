// SPDX-License-Identifier: MIT
// decode/instruction/stack_use.h for AArch64. A return address is in X30 here, not on the stack, so
// that none is pushed or replaced there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/instruction/stack_use.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode mode);
std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode mode);

}  // namespace flowback::aarch64
