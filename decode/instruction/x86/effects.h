// SPDX-License-Identifier: MIT
// decode/instruction/effects.h for x86: 64-bit and 32-bit code.
#pragma once

#include <cstdint>

#include "decode/instruction/effects.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

bool EffectsOf(Bytes code, uint64_t address, CodeMode mode, InstructionEffects& effects);
bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits);

}  // namespace flowback::x86
