// SPDX-License-Identifier: MIT
// Instructions that compute from their operands, atomic ones among them.
#include <bit>

#include "decode/instruction/x86/step_maker.h"

namespace flowback::x86 {

void X86StepMaker::MakeBinary(StepOperation operation, StepOperation flags) {
  const StepOperand a = Read(0);
  const StepOperand b = Read(1);
  const StepOperand result = Compute(operation, Bits(0), a, b);
  if (flags == StepOperation::kFlagsOfResult)
    SetFlags(flags, Bits(0), result);
  else
    SetFlags(flags, Bits(0), a, b);
  if (Writes(Operand(0))) Write(0, result);
}

void X86StepMaker::MakeShift(StepOperation operation) {
  const unsigned mask = Bits(0) == 64 ? 63 : 31;
  const StepOperand amount = Compute(StepOperation::kAnd, 8, Read(1), ConstantOperand(mask));
  const StepOperand result = Compute(operation, Bits(0), Read(0), amount);
  // The flags stay as they are where nothing is shifted.
  if (!IsImmediate(1))
    ComputeTo(kFlagsOperand, StepOperation::kOther, 64, result, amount, kFlagsOperand);
  else if ((Operand(1).imm.value.u & mask) != 0)
    SetFlags(StepOperation::kFlagsOfZeroSign, Bits(0), result);
  Write(0, result);
}

// Zero and sign stay as they are; carry and overflow are unknown.
void X86StepMaker::MakeRotation(bool right) {
  const unsigned mask = Bits(0) == 64 ? 63 : 31;
  StepOperand amount = Compute(StepOperation::kAnd, 8, Read(1), ConstantOperand(mask));
  if (right) amount = Compute(StepOperation::kSubtract, 8, ConstantOperand(Bits(0)), amount);
  const StepOperand result = Compute(StepOperation::kRotateLeft, Bits(0), Read(0), amount);
  ComputeTo(kFlagsOperand, StepOperation::kOther, 64, result, amount, kFlagsOperand);
  Write(0, result);
}

// CWD, CDQ, CQO: the sign of the accumulator in all bits of the data register.
void X86StepMaker::MakeSignOf(unsigned bits) {
  StepOperand to = RegisterOperand(2, bits);
  to.merges = bits < 32;
  ComputeTo(to, StepOperation::kCopy, bits,
            Compute(StepOperation::kShiftRightSigned, bits, RegisterOperand(0, bits),
                    ConstantOperand(bits - 1)));
}

// CBW, CWDE, CDQE.
void X86StepMaker::MakeWiderAccumulator(unsigned bits) {
  StepOperand to = RegisterOperand(0, bits);
  to.merges = bits < 32;
  ComputeTo(to, StepOperation::kCopy, bits,
            Compute(StepOperation::kSignExtend, bits, RegisterOperand(0, bits / 2),
                    ConstantOperand(bits / 2)));
}

void X86StepMaker::MakeStep(StepOperation operation) {
  const StepOperand result = Compute(operation, Bits(0), Read(0), ConstantOperand(1));
  SetFlags(StepOperation::kFlagsOfZeroSign, Bits(0), result);
  Write(0, result);
}

void X86StepMaker::MakeNegate() {
  const StepOperand a = Read(0);
  const StepOperand result = Compute(StepOperation::kSubtract, Bits(0), ConstantOperand(0), a);
  SetFlags(StepOperation::kFlagsOfDifference, Bits(0), ConstantOperand(0), a);
  Write(0, result);
}

void X86StepMaker::MakeMove(bool sign_extends) {
  StepOperand value = Read(1);
  if (sign_extends)
    value = Compute(StepOperation::kSignExtend, Bits(0), value, ConstantOperand(Bits(1)));
  Write(0, value);
}

void X86StepMaker::MakeExchange() {
  const StepOperand a = Compute(StepOperation::kCopy, Bits(0), Read(0));
  const StepOperand b = Compute(StepOperation::kCopy, Bits(1), Read(1));
  Write(0, b);
  Write(1, a);
}

void X86StepMaker::MakeExchangeAdd() {
  const StepOperand a = Compute(StepOperation::kCopy, Bits(0), Read(0));
  const StepOperand b = Read(1);
  const StepOperand sum = Compute(StepOperation::kAdd, Bits(0), a, b);
  SetFlags(StepOperation::kFlagsOfSum, Bits(0), a, b);
  // Memory first: the register may be part of its address. If both are one register, the sum
  // remains.
  if (IsMemory(Operand(0))) {
    Write(0, sum);
    Write(1, a);
  } else {
    Write(1, a);
    Write(0, sum);
  }
}

// The accumulator holds the memory's old value afterwards in either case: where they were equal, it
// did before.
void X86StepMaker::MakeCompareExchange() {
  // No real code compares and swaps between registers, and the accumulator may be one of them.
  if (!IsMemory(Operand(0))) return MakeOther();
  const StepOperand old = Compute(StepOperation::kCopy, Bits(0), Read(0));
  StepOperand accumulator = RegisterOperand(0, Bits(0));
  accumulator.merges = Bits(0) < 32;
  SetFlags(StepOperation::kFlagsOfDifference, Bits(0), accumulator, old);
  StoreIfZero(AddressOf(Operand(0)), Bits(0), OperandOf(Operand(1).reg.value, mode_));
  ComputeTo(accumulator, StepOperation::kCopy, Bits(0), old);
}

// CMPXCHG8B and CMPXCHG16B: the two halves are compared as one value.
void X86StepMaker::MakeCompareExchangePair() {
  const unsigned half = Bits(0) / 2;
  StepAddress upper_address = AddressOf(Operand(0));
  upper_address.displacement += half / 8;
  const StepOperand low = Load(AddressOf(Operand(0)), half, true);
  const StepOperand high = Load(upper_address, half, true);
  const StepOperand a = RegisterOperand(0, half);
  const StepOperand d = RegisterOperand(2, half);
  const StepOperand differs =
      Compute(StepOperation::kOr, half, Compute(StepOperation::kXor, half, low, a),
              Compute(StepOperation::kXor, half, high, d));
  SetFlags(StepOperation::kFlagsOfZero, half, differs);
  StoreIfZero(AddressOf(Operand(0)), half, RegisterOperand(3, half));
  StoreIfZero(upper_address, half, RegisterOperand(1, half));
  ComputeTo(a, StepOperation::kCopy, half, low);
  ComputeTo(d, StepOperation::kCopy, half, high);
}

void X86StepMaker::MakeBitTest() {
  StepOperand index = Read(1);
  if (!IsImmediate(1) && Bits(1) < 64)
    index = Compute(StepOperation::kSignExtend, 64, index, ConstantOperand(Bits(1)));
  StepOperand old;
  StepAddress address;
  if (IsMemory(Operand(0))) {
    address = AddressOf(Operand(0));
    if (!IsImmediate(1)) {
      const StepOperand offset =
          Compute(StepOperation::kMultiply, 64,
                  Compute(StepOperation::kShiftRightSigned, 64, index,
                          ConstantOperand(static_cast<unsigned>(std::countr_zero(Bits(0))))),
                  ConstantOperand(Bits(0) / 8));
      MachineStep& sum = Add(StepKind::kAddress);
      sum.memory = address;
      sum.to = Temporary(bits_);
      const StepOperand base = sum.to;
      address = {.base = base, .index = offset};
    }
    old = Load(address, Bits(0), atomic_);
  } else {
    old = Compute(StepOperation::kCopy, Bits(0), Read(0));
  }
  SetFlags(StepOperation::kFlagsOfCarry, 1, Compute(StepOperation::kBit, Bits(0), old, index));
  if (decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_BT) return;
  StepOperand single = Compute(StepOperation::kSingleBit, Bits(0), index);
  StepOperation operation = StepOperation::kOr;
  if (decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_BTC) operation = StepOperation::kXor;
  if (decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_BTR) {
    operation = StepOperation::kAnd;
    single = Compute(StepOperation::kXor, Bits(0), single, ConstantOperand(~uint64_t{0}));
  }
  const StepOperand result = Compute(operation, Bits(0), old, single);
  if (IsMemory(Operand(0)))
    Store(address, Bits(0), result, atomic_);
  else
    Write(0, result);
}

void X86StepMaker::MakeMultiply() {
  if (decoded_.instruction.operand_count_visible < 2) return MakeOther();
  const bool three = decoded_.instruction.operand_count_visible == 3;
  const StepOperand result =
      Compute(StepOperation::kMultiply, Bits(0), Read(three ? 1 : 0), Read(three ? 2 : 1));
  ComputeTo(kFlagsOperand, StepOperation::kOther, 64, result);
  Write(0, result);
}

// Whether it was one that computes from operands.
bool X86StepMaker::MakeSimple() {
  using enum StepOperation;
  switch (decoded_.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
      MakeMove(false);
      return true;
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      MakeMove(true);
      return true;
    case ZYDIS_MNEMONIC_LEA: {
      const StepOperand value = Temporary(64);
      MachineStep& step = Add(StepKind::kAddress);
      step.to = value;
      step.memory = AddressOf(Operand(1));
      step.memory.segment = {};
      Write(0, value);
      return true;
    }
    case ZYDIS_MNEMONIC_ADD:
      MakeBinary(kAdd, kFlagsOfSum);
      return true;
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_CMP:
      MakeBinary(kSubtract, kFlagsOfDifference);
      return true;
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_TEST:
      MakeBinary(kAnd, kFlagsOfResult);
      return true;
    case ZYDIS_MNEMONIC_OR:
      MakeBinary(kOr, kFlagsOfResult);
      return true;
    case ZYDIS_MNEMONIC_XOR:
      MakeBinary(kXor, kFlagsOfResult);
      return true;
    case ZYDIS_MNEMONIC_INC:
      MakeStep(kAdd);
      return true;
    case ZYDIS_MNEMONIC_DEC:
      MakeStep(kSubtract);
      return true;
    case ZYDIS_MNEMONIC_NEG:
      MakeNegate();
      return true;
    case ZYDIS_MNEMONIC_NOT:
      Write(0, Compute(kXor, Bits(0), Read(0), ConstantOperand(~uint64_t{0})));
      return true;
    case ZYDIS_MNEMONIC_SHL:
      MakeShift(kShiftLeft);
      return true;
    case ZYDIS_MNEMONIC_SHR:
      MakeShift(kShiftRight);
      return true;
    case ZYDIS_MNEMONIC_SAR:
      MakeShift(kShiftRightSigned);
      return true;
    case ZYDIS_MNEMONIC_ROL:
      MakeRotation(false);
      return true;
    case ZYDIS_MNEMONIC_ROR:
      MakeRotation(true);
      return true;
    case ZYDIS_MNEMONIC_BSWAP:
      if (Bits(0) < 32) return false;
      Write(0, Compute(kByteSwap, Bits(0), Read(0)));
      return true;
    case ZYDIS_MNEMONIC_CBW:
    case ZYDIS_MNEMONIC_CWDE:
    case ZYDIS_MNEMONIC_CDQE:
      MakeWiderAccumulator(decoded_.instruction.operand_width);
      return true;
    case ZYDIS_MNEMONIC_CWD:
    case ZYDIS_MNEMONIC_CDQ:
    case ZYDIS_MNEMONIC_CQO:
      MakeSignOf(decoded_.instruction.operand_width);
      return true;
    case ZYDIS_MNEMONIC_IMUL:
      MakeMultiply();
      return true;
    case ZYDIS_MNEMONIC_XCHG:
      MakeExchange();
      return true;
    case ZYDIS_MNEMONIC_XADD:
      MakeExchangeAdd();
      return true;
    case ZYDIS_MNEMONIC_CMPXCHG:
      MakeCompareExchange();
      return true;
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
      MakeCompareExchangePair();
      return true;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
      MakeBitTest();
      return true;
    default:
      break;
  }
  return false;
}

}  // namespace flowback::x86
