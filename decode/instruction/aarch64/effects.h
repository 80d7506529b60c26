// SPDX-License-Identifier: MIT
// decode/instruction/effects.h for AArch64.
#pragma once

#include <cstdint>

#include "decode/instruction/effects.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

bool EffectsOf(Bytes code, uint64_t address, CodeMode mode, InstructionEffects& effects);
bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits);

}  // namespace flowback::aarch64
