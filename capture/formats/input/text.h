// SPDX-License-Identifier: MIT
// Numbers as messages show them.
#pragma once

#include <cstdint>
#include <string>

#include "base/hex.h"

namespace flowback {

// What helps against an input that is cut or contradicts itself.
inline constexpr char kDamageRemedy[] = "copy the file again, or record again";

inline std::string Dec(uint64_t value) { return std::to_string(value); }

// "1 byte", "2 bytes".
inline std::string ByteCount(uint64_t size) { return Dec(size) + (size == 1 ? " byte" : " bytes"); }

}  // namespace flowback
