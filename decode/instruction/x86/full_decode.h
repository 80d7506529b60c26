// SPDX-License-Identifier: MIT
// An instruction with its operands, as Zydis decodes it: for who asks what it computes. What only
// asks for classes has a faster way (classify.h).
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <span>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

struct FullDecode {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  // Returns all its operands, the hidden ones included.
  std::span<const ZydisDecodedOperand> Operands() const {
    return std::span(operands).first(instruction.operand_count);
  }
};

// False: Zydis knows no instruction there. Any thread may ask.
bool DecodeFull(Bytes code, CodeMode mode, FullDecode& decoded);

inline bool WritesRegister(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
         (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

}  // namespace flowback::x86
