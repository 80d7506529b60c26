// SPDX-License-Identifier: MIT
// What libipt's coarse instruction classes leave out, read from the instruction's bytes.
#pragma once

#include <intel-pt.h>

#include "flowback/model/instruction.h"

namespace flowback::libipt {

InstructionClass ClassOf(const pt_insn& insn);
// Where a direct near branch goes when taken; 0 for other instructions.
uint64_t DirectTarget(const pt_insn& insn);

inline CodeMode ModeOf(pt_exec_mode mode) {
  if (mode == ptem_16bit) return CodeMode::kX86_16;
  return mode == ptem_32bit ? CodeMode::kX86_32 : CodeMode::kX86_64;
}

}  // namespace flowback::libipt
