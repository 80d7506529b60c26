// SPDX-License-Identifier: MIT
#include "decode/instruction/aarch64/effects.h"

namespace flowback::aarch64 {

bool EffectsOf(Bytes, uint64_t, CodeMode, InstructionEffects&) { return false; }

bool MemoryTraitsOf(Bytes, CodeMode, MemoryTraits&) { return false; }

}  // namespace flowback::aarch64
