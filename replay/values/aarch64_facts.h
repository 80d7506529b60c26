// SPDX-License-Identifier: MIT
// replay/values/instruction_facts.h for AArch64.
#pragma once

#include <cstdint>

#include "replay/values/instruction_facts.h"

namespace flowback::values {

// Sets where control may go, and whether the steps of the word are exact.
void SetArmFacts(uint32_t word, InstructionFacts& facts);

// Whether the processor may have loaded some of the instruction's registers before it faulted.
bool MayLoadPart(uint32_t word);

}  // namespace flowback::values
