// SPDX-License-Identifier: MIT
#include "decode/instruction/effects.h"

#include "decode/instruction/aarch64/effects.h"
#include "decode/instruction/x86/effects.h"

namespace flowback {

bool EffectsOf(Bytes code, uint64_t address, CodeMode mode, InstructionEffects& effects) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::EffectsOf(code, address, mode, effects);
#include "flowback/model/code_modes.def"
  }
  return false;
}

bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::MemoryTraitsOf(code, mode, traits);
#include "flowback/model/code_modes.def"
  }
  return false;
}

}  // namespace flowback
