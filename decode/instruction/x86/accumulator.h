// SPDX-License-Identifier: MIT
// decode/instruction/accumulator.h for x86.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths,
                                          CodeMode mode);

}  // namespace flowback::x86
