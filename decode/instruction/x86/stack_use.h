// SPDX-License-Identifier: MIT
// decode/instruction/stack_use.h for x86. 16-bit code has no result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/instruction/stack_use.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode mode);
std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode mode);

}  // namespace flowback::x86
