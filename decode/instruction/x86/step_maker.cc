// SPDX-License-Identifier: MIT
// Operands, memory, transfers of control, and instructions without steps of their own.
#include "decode/instruction/x86/step_maker.h"

#include "decode/instruction/x86/machine_modes.h"

namespace flowback::x86 {

StepOperand OperandOf(ZydisRegister reg, CodeMode mode) {
  if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_FLAGS) return kFlagsOperand;
  const ZydisRegister whole =
      ZydisRegisterGetLargestEnclosing(kMachineModes[IndexOf(mode)].mode, reg);
  const auto id = static_cast<uint8_t>(ZydisRegisterGetId(whole));
  const unsigned bits = ZydisRegisterGetWidth(kMachineModes[IndexOf(mode)].mode, reg);
  switch (ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_GPR32: {
      StepOperand result = RegisterOperand(id, bits);
      result.merges = bits < 32;
      if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) result.shift = 8;
      return result;
    }
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return RegisterOperand(step_register::kVector + (id & 31), 64);
    default:
      return RegisterOperand(step_register::kOtherState, 64);
  }
}

bool IsAtomic(const FullDecode& decoded) {
  return (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
         (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG &&
          (IsMemory(decoded.operands[0]) || IsMemory(decoded.operands[1])));
}

bool IsPause(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_HLT:
      return true;
    default:
      return false;
  }
}

StepAddress X86StepMaker::AddressOf(const ZydisDecodedOperand& operand) const {
  const ZydisDecodedOperandMem& memory = operand.mem;
  StepAddress result;
  result.bits = static_cast<uint8_t>(decoded_.instruction.address_width);
  result.displacement = static_cast<uint64_t>(memory.disp.value);
  if (memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP)
    result.displacement += next_;
  else if (memory.base != ZYDIS_REGISTER_NONE)
    result.base = OperandOf(memory.base, mode_);
  if (memory.index != ZYDIS_REGISTER_NONE) {
    result.index = OperandOf(memory.index, mode_);
    result.scale = memory.scale == 0 ? 1 : memory.scale;
  }
  if (memory.segment == ZYDIS_REGISTER_FS)
    result.segment = RegisterOperand(step_register::kFsBase, 64);
  if (memory.segment == ZYDIS_REGISTER_GS)
    result.segment = RegisterOperand(step_register::kGsBase, 64);
  return result;
}

StepOperand X86StepMaker::Read(size_t i) {
  const ZydisDecodedOperand& operand = Operand(i);
  if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    return ConstantOperand(operand.imm.is_signed ? static_cast<uint64_t>(operand.imm.value.s)
                                                 : operand.imm.value.u);
  }
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) return OperandOf(operand.reg.value, mode_);
  if (IsMemory(operand)) return Load(AddressOf(operand), operand.size, atomic_);
  return ConstantOperand(0);
}

void X86StepMaker::Write(size_t i, StepOperand value) {
  const ZydisDecodedOperand& operand = Operand(i);
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER)
    ComputeTo(OperandOf(operand.reg.value, mode_), StepOperation::kCopy, operand.size, value);
  else if (IsMemory(operand))
    Store(AddressOf(operand), operand.size, value, atomic_);
}

void X86StepMaker::MakeBranch(StepOperand flags, uint8_t condition) {
  MachineStep& step = Add(StepKind::kBranch);
  step.a = flags;
  step.condition = condition;
  step.constant =
      (next_ + static_cast<uint64_t>(Operand(0).imm.value.s)) & TraitsOf(mode_).address_mask;
}

// JRCXZ and the LOOP instructions. The flags that LOOPE and LOOPNE look at are left out: their
// condition counts anyway.
void X86StepMaker::MakeCounted() {
  const bool is_loop = decoded_.instruction.opcode != 0xe3;
  StepOperand counter = Pointer(1);
  if (is_loop)
    ComputeTo(counter, StepOperation::kAdd, bits_, counter, ConstantOperand(~uint64_t{0}));
  const StepOperand flags =
      Compute(StepOperation::kFlagsOfDifference, bits_, counter, ConstantOperand(0));
  MakeBranch(flags, is_loop ? step_condition::kNotZero : step_condition::kZero);
}

void X86StepMaker::MakeJump() {
  if (IsImmediate(0)) return;
  const StepOperand target = Read(0);
  Add(StepKind::kIndirectJump).a = target;
}

void X86StepMaker::MakePush(StepOperand value, unsigned bits) {
  // PUSH of the stack pointer itself stores its old value.
  value = Compute(StepOperation::kCopy, bits, value);
  const StepOperand sp = Pointer(step_register::kX86StackPointer);
  ComputeTo(sp, StepOperation::kSubtract, bits_, sp, ConstantOperand(bits / 8));
  Store({.base = sp, .bits = static_cast<uint8_t>(bits_)}, bits, value, false);
}

StepOperand X86StepMaker::MakePop(unsigned bits) {
  const StepOperand sp = Pointer(step_register::kX86StackPointer);
  const StepOperand value = Load({.base = sp, .bits = static_cast<uint8_t>(bits_)}, bits, false);
  ComputeTo(sp, StepOperation::kAdd, bits_, sp, ConstantOperand(bits / 8));
  return value;
}

void X86StepMaker::MakeCall() {
  if (!IsImmediate(0)) {
    const StepOperand target = Read(0);
    Add(StepKind::kIndirectJump).a = target;
  }
  MakePush(ConstantOperand(next_), bits_);
  Add(StepKind::kCall);
}

void X86StepMaker::MakeReturn() {
  const StepOperand target = MakePop(bits_);
  if (IsImmediate(0)) {
    const StepOperand sp = Pointer(step_register::kX86StackPointer);
    ComputeTo(sp, StepOperation::kAdd, bits_, sp, ConstantOperand(Operand(0).imm.value.u));
  }
  Add(StepKind::kIndirectJump).a = target;
  Add(StepKind::kReturn);
}

// The kernel leaves the result in the accumulator; SYSCALL itself overwrites RCX and R11. The flags
// that R11 gets are of no use to anyone: they are taken to be always the same.
void X86StepMaker::MakeSystemCall() {
  MachineStep& step = Add(StepKind::kSystemCall);
  step.a = RegisterOperand(0, 32);
  step.to = Pointer(0);
  if (decoded_.instruction.mnemonic != ZYDIS_MNEMONIC_SYSCALL) return;
  ComputeTo(Pointer(1), StepOperation::kCopy, 64, ConstantOperand(next_));
  ComputeTo(Pointer(11), StepOperation::kCopy, 64, ConstantOperand(0));
}

// All that is written depends on the clock or the device.
void X86StepMaker::MakeInput(StepKind kind) {
  const StepOperand value = Temporary(64);
  Add(kind).to = value;
  for (size_t i = 0; i < decoded_.instruction.operand_count; ++i) {
    if (!Writes(Operand(i))) continue;
    if (Operand(i).type == ZYDIS_OPERAND_TYPE_REGISTER && Operand(i).size >= 8)
      Write(i, Compute(StepOperation::kOther, Operand(i).size, value, ConstantOperand(i)));
  }
}

// Whether the operand says which memory is written: not so where an instruction repeats, scatters
// or saves state.
bool X86StepMaker::IsPlainStore(const ZydisDecodedOperand& operand) const {
  constexpr unsigned kWidestVector = 512;
  return operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
         operand.mem.type == ZYDIS_MEMOP_TYPE_MEM && operand.size <= kWidestVector &&
         decoded_.instruction.meta.category != ZYDIS_CATEGORY_STRINGOP;
}

void X86StepMaker::MakeOther() {
  StepOperand all = ConstantOperand(decoded_.instruction.mnemonic);
  const size_t count = decoded_.instruction.operand_count;
  for (size_t i = 0; i < count; ++i) {
    const ZydisDecodedOperand& operand = Operand(i);
    const bool is_instruction_pointer =
        operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_IP;
    if (is_instruction_pointer || (operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE && !Reads(operand)))
      continue;
    all = Compute(StepOperation::kOther, 64, all, Read(i), ConstantOperand(i));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!Writes(Operand(i))) continue;
    if (IsMemory(Operand(i)) && !IsPlainStore(Operand(i))) effects_.writes_elsewhere = true;
    const unsigned bits = std::min<unsigned>(Operand(i).size, 64);
    Write(i, Compute(StepOperation::kOther, bits, all, ConstantOperand(count + i)));
  }
  // CMC's operands do not include the flags that it writes.
  if (decoded_.instruction.mnemonic == ZYDIS_MNEMONIC_CMC) SetFlags(StepOperation::kOther, 64, all);
}

bool X86StepMaker::MakeControl() {
  switch (decoded_.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      MakeJump();
      return true;
    case ZYDIS_MNEMONIC_CALL:
      MakeCall();
      return true;
    case ZYDIS_MNEMONIC_RET:
      MakeReturn();
      return true;
    case ZYDIS_MNEMONIC_PUSH:
      // A number of one byte is pushed as a word.
      MakePush(Read(0), decoded_.instruction.operand_width == 16 ? 16 : bits_);
      return true;
    case ZYDIS_MNEMONIC_POP: {
      const StepOperand value = MakePop(Bits(0));
      Write(0, value);
      return true;
    }
    case ZYDIS_MNEMONIC_LEAVE:
      ComputeTo(Pointer(step_register::kX86StackPointer), StepOperation::kCopy, bits_,
                Pointer(step_register::kX86FramePointer));
      ComputeTo(Pointer(step_register::kX86FramePointer), StepOperation::kCopy, bits_,
                MakePop(bits_));
      return true;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
      MakeSystemCall();
      return true;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
      MakeInput(StepKind::kClock);
      return true;
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_IN:
      MakeInput(StepKind::kRandom);
      return true;
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
      MakeCounted();
      return true;
    default:
      return false;
  }
}

void X86StepMaker::Make() {
  const ZydisDecodedInstruction& instruction = decoded_.instruction;
  if (IsPause(instruction.mnemonic)) {
    Add(StepKind::kPause);
    // UMWAIT and TPAUSE say in the carry whether their time was up.
    if (instruction.mnemonic == ZYDIS_MNEMONIC_UMWAIT ||
        instruction.mnemonic == ZYDIS_MNEMONIC_TPAUSE)
      SetFlags(StepOperation::kOther, 64, ConstantOperand(instruction.mnemonic));
    return;
  }
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
      return;
    case ZYDIS_CATEGORY_COND_BR:
      if (!MakeControl()) MakeBranch(kFlagsOperand, Condition());
      return;
    case ZYDIS_CATEGORY_SETCC:
      return Write(0, Compute(StepOperation::kCondition, 8, kFlagsOperand, {}, {}, Condition()));
    case ZYDIS_CATEGORY_CMOV: {
      const StepOperand holds =
          Compute(StepOperation::kCondition, 8, kFlagsOperand, {}, {}, Condition());
      return Write(0, Compute(StepOperation::kSelect, Bits(0), holds, Read(1), Read(0)));
    }
    default:
      if (!MakeSimple() && !MakeControl()) MakeOther();
  }
}

}  // namespace flowback::x86
