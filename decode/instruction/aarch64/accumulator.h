// SPDX-License-Identifier: MIT
// decode/instruction/accumulator.h for AArch64, where Linux takes the number from X8.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths,
                                          CodeMode mode);

}  // namespace flowback::aarch64
