// SPDX-License-Identifier: MIT
#include "replay/calls/unwind/behind_call.h"

#include <array>

#include "decode/instruction/classify.h"

namespace flowback {

bool IsBehindCall(const AddressSpace& space, uint64_t address, CodeMode mode) {
  constexpr size_t kLongest = 9;  // bytes: prefixes, opcode, ModRM, SIB, displacement
  for (size_t length = 2; length <= kLongest; ++length) {
    std::array<uint8_t, kLongest> code;
    if (space.Read(address - length, code.data(), length) != length) continue;
    Instruction instruction;
    if (!Classify(Bytes(code.data(), length), mode, instruction)) continue;
    const bool calls = instruction.kind == InstructionClass::kCall ||
                       instruction.kind == InstructionClass::kIndirectCall;
    if (calls && instruction.length == length) return true;
  }
  return false;
}

}  // namespace flowback
