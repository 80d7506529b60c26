// SPDX-License-Identifier: MIT
// Looks back from the last instruction for the one that wrote the accumulator last: a constant is
// known where that moved one there, or cleared it. What Zydis does not know may write anything.
#include "decode/instruction/x86/accumulator.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

#include "decode/instruction/x86/full_decode.h"

namespace flowback::x86 {
namespace {

bool IsAccumulator(ZydisRegister reg) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) == ZYDIS_REGISTER_RAX;
}

// Writing its lower half clears the upper one, so both leave nothing of what was there before.
bool IsAllOfIt(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
         (operand.reg.value == ZYDIS_REGISTER_EAX || operand.reg.value == ZYDIS_REGISTER_RAX);
}

bool WritesAccumulator(const FullDecode& decoded) {
  return std::ranges::any_of(decoded.Operands(), [](const ZydisDecodedOperand& operand) {
    return WritesRegister(operand) && IsAccumulator(operand.reg.value);
  });
}

// REQUIRES: it writes the accumulator.
std::optional<uint32_t> ConstantOf(const FullDecode& decoded) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  const ZydisDecodedOperand& from = decoded.operands[1];
  if (decoded.instruction.operand_count < 2 || !IsAllOfIt(to)) return std::nullopt;
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      if (from.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return std::nullopt;
      return static_cast<uint32_t>(from.imm.value.u);
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
      if (!IsAllOfIt(from) || from.reg.value != to.reg.value) return std::nullopt;
      return 0;
    default:
      return std::nullopt;
  }
}

// As nearly all compilers and people write it: no need to ask Zydis.
std::optional<uint32_t> OfCommonForm(Bytes code, CodeMode mode) {
  if (mode == CodeMode::kX86_16) return std::nullopt;
  if (code.size() == 2 && (code[0] == 0x31 || code[0] == 0x33) && code[1] == 0xc0) return 0;
  if (code.size() != 5 || code[0] != 0xb8) return std::nullopt;
  uint32_t number = 0;
  std::memcpy(&number, &code[1], sizeof number);
  return number;
}

}  // namespace

std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths,
                                          CodeMode mode) {
  size_t end = 0;
  for (const uint8_t length : lengths) end += length;
  if (end > code.size() || lengths.empty()) return std::nullopt;
  const size_t last = lengths.back();
  if (const auto number = OfCommonForm(code.subspan(end - last, last), mode)) return number;
  for (size_t i = lengths.size(); i > 0; --i) {
    const size_t begin = end - lengths[i - 1];
    FullDecode decoded;
    if (!DecodeFull(code.subspan(begin, end - begin), mode, decoded)) return std::nullopt;
    if (WritesAccumulator(decoded)) return ConstantOf(decoded);
    end = begin;
  }
  return std::nullopt;
}

}  // namespace flowback::x86
