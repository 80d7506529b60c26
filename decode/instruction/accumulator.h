// SPDX-License-Identifier: MIT
// The constant that code leaves in the accumulator, where Linux takes the number of a system call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// The accumulator's lower 32 bits behind the instructions with those lengths, which executed one
// behind the other; `code` begins with the first. Empty: they do not prove it. Thread-safe.
std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths,
                                          CodeMode mode);

}  // namespace flowback
