// SPDX-License-Identifier: MIT
#include "decode/instruction/x86/computation.h"

#include <Zydis/Zydis.h>

#include "decode/instruction/x86/full_decode.h"
#include "decode/instruction/x86/machine_modes.h"

namespace flowback::x86 {
namespace {

constexpr uint32_t kAllRegisters = 0xffff;
// What a call leaves as it was, by the System V ABI: RBX, RSP, RBP, R12 to R15; in 32-bit code RSI
// and RDI, too.
constexpr uint32_t kKeptByCalls64 = 0xf038;
constexpr uint32_t kKeptByCalls32 = 0x00f8;

uint8_t NumberOf(ZydisRegister reg, CodeMode mode) {
  const ZydisRegister whole =
      ZydisRegisterGetLargestEnclosing(kMachineModes[IndexOf(mode)].mode, reg);
  const ZyanI8 id = ZydisRegisterGetId(whole);
  const ZydisRegisterClass kind = ZydisRegisterGetClass(whole);
  const bool general = kind == ZYDIS_REGCLASS_GPR64 || kind == ZYDIS_REGCLASS_GPR32;
  return general && id >= 0 && id < 16 ? static_cast<uint8_t>(id) : kNoRegister;
}

MemoryAddress AddressOf(const ZydisDecodedOperand& operand, uint64_t next, CodeMode mode) {
  const ZydisDecodedOperandMem& memory = operand.mem;
  MemoryAddress result;
  result.displacement = static_cast<uint64_t>(memory.disp.value);
  if (memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP)
    result.displacement += next;
  else if (memory.base != ZYDIS_REGISTER_NONE)
    result.base = NumberOf(memory.base, mode);
  if (memory.index != ZYDIS_REGISTER_NONE) {
    result.index = NumberOf(memory.index, mode);
    result.scale = memory.scale;
  }
  result.displacement &= TraitsOf(mode).address_mask;
  return result;
}

uint32_t WritesOf(const FullDecode& decoded, CodeMode mode) {
  uint32_t writes = 0;
  for (const ZydisDecodedOperand& each : decoded.Operands()) {
    if (!WritesRegister(each)) continue;
    const uint8_t number = NumberOf(each.reg.value, mode);
    if (number != kNoRegister) writes |= 1U << number;
  }
  return writes;
}

// The first two operands of an instruction that writes a whole register.
void SetMove(const FullDecode& decoded, uint64_t next, CodeMode mode, Computation& result) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  const ZydisDecodedOperand& from = decoded.operands[1];
  if (to.type != ZYDIS_OPERAND_TYPE_REGISTER || to.size < 32) return;
  result.to = NumberOf(to.reg.value, mode);
  result.bits = static_cast<uint8_t>(from.size);
  if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    result.from = NumberOf(from.reg.value, mode);
    result.operation = Operation::kCopy;
  } else if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    result.constant = from.imm.value.u & TraitsOf(mode).address_mask;
    if (to.size == 32) result.constant &= 0xffffffff;
    result.operation = Operation::kConstant;
  } else if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    if (from.mem.segment == ZYDIS_REGISTER_FS || from.mem.segment == ZYDIS_REGISTER_GS) return;
    result.memory = AddressOf(from, next, mode);
    result.operation =
        decoded.instruction.mnemonic == ZYDIS_MNEMONIC_LEA ? Operation::kAddress : Operation::kLoad;
  }
}

void SetOperation(const FullDecode& decoded, uint64_t next, CodeMode mode, Computation& result) {
  const auto& operands = decoded.operands;
  const auto is_register = [&](size_t i) {
    return operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER;
  };
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_LEA:
      return SetMove(decoded, next, mode, result);
    case ZYDIS_MNEMONIC_CDQE:
      result.to = result.from = 0;
      result.bits = 32;
      result.operation = Operation::kCopy;
      return;
    case ZYDIS_MNEMONIC_ADD:
      if (!is_register(0) || !is_register(1) || operands[0].size < 32) return;
      result.to = NumberOf(operands[0].reg.value, mode);
      result.from = NumberOf(operands[1].reg.value, mode);
      result.operation = Operation::kAdd;
      return;
    case ZYDIS_MNEMONIC_CMP:
      if (!is_register(0) || operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return;
      result.from = NumberOf(operands[0].reg.value, mode);
      result.constant = operands[1].imm.value.u;
      result.operation = Operation::kCompare;
      return;
    case ZYDIS_MNEMONIC_JMP:
      if (is_register(0))
        result.from = NumberOf(operands[0].reg.value, mode);
      else if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
        result.memory = AddressOf(operands[0], next, mode);
      else
        return;
      result.operation = Operation::kJump;
      return;
    default:
      return;
  }
}

}  // namespace

Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode) {
  Computation result;
  result.writes = kAllRegisters;
  FullDecode decoded;
  if (!DecodeFull(code, mode, decoded)) return result;
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
    result.writes = kAllRegisters & ~(mode == CodeMode::kX86_64 ? kKeptByCalls64 : kKeptByCalls32);
    return result;
  }
  result.writes = WritesOf(decoded, mode);
  SetOperation(decoded, address + decoded.instruction.length, mode, result);
  return result;
}

}  // namespace flowback::x86
