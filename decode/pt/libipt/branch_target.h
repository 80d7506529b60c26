// SPDX-License-Identifier: MIT
// What libipt's coarse instruction classes leave out, read from the instruction's bytes.
#pragma once

#include <intel-pt.h>

#include "flowback/model/instruction.h"

namespace flowback::libipt {

InstructionClass ClassOf(const pt_insn& insn);
// Where a direct near branch goes when taken; 0 for other instructions.
uint64_t DirectTarget(const pt_insn& insn);

inline ExecMode ModeOf(pt_exec_mode mode) {
  if (mode == ptem_16bit) return ExecMode::k16Bit;
  return mode == ptem_32bit ? ExecMode::k32Bit : ExecMode::k64Bit;
}

}  // namespace flowback::libipt
