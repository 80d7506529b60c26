// SPDX-License-Identifier: MIT
#include "replay/values/value_graph.h"

#include <algorithm>
#include <span>
#include <utility>

#include "flowback/base/bytes.h"
#include "replay/values/aarch64_facts.h"
#include "replay/values/instruction_facts.h"
#include "replay/values/kernel_calls.h"
#include "replay/values/known_bits.h"
#include "replay/values/open_calls.h"

namespace flowback::values {
namespace {

// The bits of an address that count: AArch64 ignores the top byte.
uint64_t AddressMask(CodeMode mode) {
  constexpr unsigned kArmBits = 56;
  return LowBits(mode == CodeMode::kAArch64 ? kArmBits : TraitsOf(mode).bits);
}

// What a system call overwrites, beside what it may set. SYSCALL itself overwrites RCX and R11.
std::span<const uint8_t> LostInCall(CodeMode mode) {
  static constexpr std::array<uint8_t, 4> kX86_64 = {0, 1, 11, step_register::kFlags};
  static constexpr std::array<uint8_t, 2> kOthers = {0, step_register::kFlags};
  if (mode == CodeMode::kX86_64) return kX86_64;
  return kOthers;
}

constexpr size_t kX86Count = 1, kX86Destination = 7;  // RCX, RDI

class GraphBuilder {
 public:
  explicit GraphBuilder(const ExecutedPath& path) : path_(path) { graph_.mode = path.mode; }

  ValueGraph Build() {
    ForgetRegisters();
    const size_t count = path_.instructions.size();
    for (size_t i = 0; i < count; ++i) {
      instruction_ = static_cast<uint32_t>(i);
      AddPoint();
      const bool is_last = i + 1 == count;
      const PathInstruction& one = path_.instructions[i];
      if (one.then_traps) AddUntilTrap(one);
      came_to_ = is_last ? path_.end_address : path_.instructions[i + 1].address;
      between_ = is_last ? path_.before_end : path_.instructions[i + 1].before;
      if (!one.then_traps) AddInstruction(one);
      AddBetween();
      if (path_.keeps_convention && !one.then_traps) FollowCalls(one);
    }
    if (Repeats(path_.end_code, path_.mode)) AddHalfDone();
    if (path_.mode == CodeMode::kAArch64) AddHalfDoneArm();
    AddPoint();
    return std::move(graph_);
  }

 private:
  static constexpr size_t kTemporaries = step_register::kCount - step_register::kTemporary;
  // A value that an instruction passes on from one step to the next.
  struct Temporary {
    ValueId value = kNoValue;
    bool opaque = false;    // how it was computed is not known
    bool on_stack = false;  // it is the stack pointer, or near it
  };

  ValueId NewValue() {
    graph_.definitions.push_back(ValueGraph::kNoStep);
    return static_cast<ValueId>(graph_.definitions.size() - 1);
  }
  void AddPoint() {
    graph_.points.push_back(static_cast<uint32_t>(graph_.steps.size()));
    graph_.registers.push_back(registers_);
    AddNarrow();
  }
  // 32-bit code does not see the upper half of a register. Code of another mode may.
  void AddNarrow() {
    const size_t point = graph_.registers.size() - 1;
    const bool is_end = point == path_.instructions.size();
    if (path_.mode != CodeMode::kX86_32 ||
        (!is_end && path_.instructions[point].mode != path_.mode))
      return;
    for (size_t i = 0; i < registers_.size(); ++i)
      if (point == 0 || graph_.registers[point - 1][i] != registers_[i] ||
          path_.instructions[point - 1].mode != path_.mode)
        graph_.narrow.push_back(registers_[i]);
  }
  GraphStep& Add(GraphStep::Kind kind) {
    graph_.steps.push_back({.kind = kind, .instruction = instruction_});
    return graph_.steps.back();
  }
  void ForgetRegisters() {
    for (ValueId& value : registers_) value = NewValue();
  }
  void ForgetAll() {
    ForgetRegisters();
    Add(GraphStep::Kind::kForget);
  }

  // The instruction, and behind it INT 80h.
  void AddUntilTrap(const PathInstruction& one) {
    constexpr uint64_t kTrap = 2;  // bytes
    came_to_ = one.next;
    between_ = Between::kNothing;
    AddInstruction(one);
    AddBetween();
    if (path_.keeps_convention) FollowCalls(one);
    facts_ = {.behind = one.next + kTrap, .target = {}, .is_system_call = true};
    AddSystemCall(
        {.kind = StepKind::kSystemCall, .a = RegisterOperand(0, TraitsOf(path_.mode).bits)});
  }

  void AddBetween() {
    if (between_ == Between::kAllMayChange || !facts_.LeadsTo(came_to_)) {
      graph_.gaps.push_back(static_cast<ValueId>(graph_.values()));
      return ForgetAll();
    }
    if (between_ == Between::kNothing) return;
    Add(GraphStep::Kind::kForget).by_others = between_ == Between::kOthersMayWrite;
  }

  // What the instruction does to the calls that have not returned.
  void FollowCalls(const PathInstruction& one) {
    if (between_ == Between::kAllMayChange || !facts_.LeadsTo(came_to_)) return calls_.Clear();
    if (facts_.is_opaque) return;
    bool calls = false, returns = false, jumps = false;
    for (const MachineStep& step : effects_.steps) {
      calls |= step.kind == StepKind::kCall;
      returns |= step.kind == StepKind::kReturn;
      jumps |= step.kind == StepKind::kIndirectJump;
    }
    if (calls) return calls_.Call(facts_.behind, graph_.registers.back());
    if (!returns) return jumps ? calls_.Jump(came_to_) : void();
    constexpr uint8_t kReturnAndPop = 0xc2;
    const bool pops = path_.mode != CodeMode::kAArch64 && one.bytes[0] == kReturnAndPop;
    // So the loader of 32-bit programs enters a function that it has looked up.
    if (pops && !calls_.ReturnsTo(came_to_)) return;
    OpenCalls::Registers before;
    if (!calls_.Return(came_to_, before)) return;
    if (path_.mode == CodeMode::kX86_32 && ReadsCounter()) return;
    for (const uint8_t number : KeptInCalls(path_.mode).subspan(pops ? 1 : 0)) {
      GraphStep& same = Add(GraphStep::Kind::kSame);
      same.to.value = registers_[FollowedIndex(number)];
      same.old = before[FollowedIndex(number)];
    }
  }

  // Position-independent 32-bit code asks a function of two instructions where it is: MOV from the
  // stack's top, RET. That one keeps no register for its caller.
  bool ReadsCounter() {
    constexpr uint8_t kMove = 0x8b, kStackTop = 0x24, kFromStack = 0x04;
    if (instruction_ < 2) return false;
    const PathInstruction& move = path_.instructions[instruction_ - 1];
    const PathInstruction& call = path_.instructions[instruction_ - 2];
    const bool is_it = move.length == 3 && move.bytes[0] == kMove && move.bytes[2] == kStackTop &&
                       (move.bytes[1] & 0xc7) == kFromStack &&
                       (call.address + call.length) == came_to_;
    if (!is_it) return false;
    GraphStep& equal = Add(GraphStep::Kind::kEqual);
    equal.a = {.value = registers_[move.bytes[1] >> 3 & 7], .bits = 32};
    equal.constant = came_to_;
    equal.mask = AddressMask(path_.mode);
    return true;
  }

  // What a string instruction writes: RAX, RCX, RSI, RDI, the flags, memory.
  void AddHalfDone() {
    for (const uint8_t number :
         {uint8_t{0}, uint8_t{1}, uint8_t{6}, uint8_t{7}, step_register::kFlags})
      registers_[FollowedIndex(number)] = NewValue();
    Add(GraphStep::Kind::kForget);
  }

  // A load or store of AArch64 that faults may have loaded and stored a part of what it should. It
  // leaves the register of its address as it was.
  void AddHalfDoneArm() {
    constexpr unsigned kWord = 4;
    if (path_.end_code.size() < kWord ||
        !EffectsOf(Bytes(path_.end_code).first(kWord), path_.end_address, path_.mode, effects_))
      return;
    const auto word = static_cast<uint32_t>(LoadLittleEndian(path_.end_code.data(), kWord));
    temporaries_.fill({});
    for (const MachineStep& step : effects_.steps) AddHalf(step, MayLoadPart(word));
  }
  void AddHalf(const MachineStep& step, bool may_load) {
    if (step.kind == StepKind::kStoreIf || step.kind == StepKind::kStoreTry) {
      Add(GraphStep::Kind::kForget);
    } else if (step.kind == StepKind::kStore) {
      const uint32_t address = AddressOf(step.memory);
      const ValueId value = NewValue();
      GraphStep& made = Add(GraphStep::Kind::kStore);
      made.address = address;
      made.bits = step.bits;
      made.has_mask = true;
      made.a = {.value = value};
    } else if (step.kind == StepKind::kCompute && TemporaryOf(step.to) != nullptr) {
      AddStep(step);
    } else if (may_load && step.kind == StepKind::kCompute &&
               step.operation != StepOperation::kAdd) {
      if (const size_t index = FollowedIndex(step.to.number); index != kNotFollowed)
        registers_[index] = NewValue();
    }
  }

  void AddInstruction(const PathInstruction& instruction) {
    facts_ = FactsOf(instruction, path_.mode);
    if (facts_.zeroes_block) return AddZeroedBlock(*facts_.zeroes_block);
    const Bytes code(instruction.bytes.data(), instruction.length);
    if (facts_.is_opaque || !EffectsOf(code, instruction.address, instruction.mode, effects_))
      return ForgetAll();
    temporaries_.fill({});
    may_not_write_ = std::ranges::any_of(
        effects_.steps, [](const MachineStep& step) { return step.kind == StepKind::kStoreIf; });
    const auto before = registers_;
    for (const MachineStep& step : effects_.steps) {
      if (step.kind == StepKind::kSystemCall) return AddSystemCall(step);
      AddStep(step);
    }
    if (effects_.writes_elsewhere && facts_.element != 0)
      AddString(before[kX86Destination], before[kX86Count]);
    else if (effects_.writes_elsewhere)
      Add(GraphStep::Kind::kForget).on_stack =
          std::ranges::any_of(effects_.steps, [this](const MachineStep& step) {
            return step.kind == StepKind::kStore && IsAtStack(step.memory);
          });
  }

  // Elements at RDI, as many as RCX says, up or down.
  void AddString(ValueId destination, ValueId count) {
    const uint8_t bits = TraitsOf(path_.mode).bits;
    GraphAddress address{.base = {.value = destination, .bits = bits}};
    address.bits = bits;
    address.mask = AddressMask(path_.mode);
    GraphStep& part = AddPart(address, facts_.element);
    part.both_ways = true;
    part.a = {.constant = 1};
    if (facts_.repeats) part.a = {.value = count, .bits = bits};
  }
  // The block is of a size that the processor says, and aligned to it.
  void AddZeroedBlock(uint8_t number) {
    constexpr uint64_t kLargest = 2048;
    GraphAddress address{.base = {.value = registers_[number]}};
    address.mask = AddressMask(path_.mode) & ~(kLargest - 1);
    AddPart(address, kLargest).a = {.constant = 1};
  }
  GraphStep& AddPart(const GraphAddress& address, uint64_t element) {
    graph_.addresses.push_back(address);
    GraphStep& part = Add(GraphStep::Kind::kForgetPart);
    part.address = static_cast<uint32_t>(graph_.addresses.size() - 1);
    part.constant = element;
    return part;
  }

  // The kernel keeps the other registers. A call may set the bases of FS and GS.
  void AddSystemCall(const MachineStep& step) {
    if (!facts_.is_system_call) return ForgetAll();
    const ValueSlice number = Read(step.a);
    GraphStep& call = Add(GraphStep::Kind::kSystemCall);
    call.a = number;
    call.address = static_cast<uint32_t>(graph_.calls.size());
    graph_.calls.push_back({.instruction = instruction_, .before = registers_});
    for (const uint8_t base : {step_register::kFsBase, step_register::kGsBase}) {
      ValueId& value = registers_[FollowedIndex(base)];
      const ValueId old = std::exchange(value, NewValue());
      GraphStep& kept = Add(GraphStep::Kind::kKeepBase);
      kept.a = number;
      kept.to.value = value;
      kept.old = old;
    }
    for (const uint8_t lost : LostInCall(path_.mode)) registers_[FollowedIndex(lost)] = NewValue();
    graph_.calls.back().result = registers_[kCallResult];
  }

  Temporary* TemporaryOf(const StepOperand& operand) {
    if (operand.kind != StepOperand::Kind::kRegister || operand.number < step_register::kTemporary)
      return nullptr;
    return &temporaries_[(operand.number - step_register::kTemporary) % kTemporaries];
  }
  bool IsOpaque(const StepOperand& operand) {
    const Temporary* temporary = TemporaryOf(operand);
    return temporary != nullptr && temporary->opaque;
  }

  ValueSlice Read(const StepOperand& operand) {
    if (operand.kind == StepOperand::Kind::kNone) return {};
    if (operand.kind == StepOperand::Kind::kConstant) return {.constant = operand.constant};
    ValueSlice slice{.bits = operand.bits, .shift = operand.shift};
    if (Temporary* temporary = TemporaryOf(operand)) {
      if (temporary->value == kNoValue) temporary->value = NewValue();
      slice.value = temporary->value;
      return slice;
    }
    const size_t index = FollowedIndex(operand.number);
    slice.value = index == kNotFollowed ? NewValue() : registers_[index];
    return slice;
  }

  uint32_t AddressOf(const StepAddress& memory) {
    GraphAddress address;
    address.base = Read(memory.base);
    address.index = Read(memory.index);
    address.segment = Read(memory.segment);
    address.scale = memory.scale;
    address.bits = memory.bits;
    address.displacement = memory.displacement;
    address.mask = AddressMask(path_.mode);
    graph_.addresses.push_back(address);
    return static_cast<uint32_t>(graph_.addresses.size() - 1);
  }

  // The stack pointer, or what an instruction computes from it for its own use.
  bool IsStackPointer(const StepOperand& operand) {
    if (operand.kind != StepOperand::Kind::kRegister) return false;
    if (const Temporary* temporary = TemporaryOf(operand)) return temporary->on_stack;
    return operand.number == (path_.mode == CodeMode::kAArch64 ? step_register::kAArch64StackPointer
                                                               : step_register::kX86StackPointer);
  }
  bool IsAtStack(const StepAddress& memory) { return IsStackPointer(memory.base); }

  // Gives `to` a new value, which the last step defines; `opaque`: the step does not say which.
  void Write(const StepOperand& to, bool opaque) {
    const size_t index = FollowedIndex(to.number);
    Temporary* temporary = TemporaryOf(to);
    if (temporary == nullptr && index == kNotFollowed) {
      graph_.steps.back().to = {.value = NewValue(), .bits = 64};
      return;
    }
    const ValueId value = NewValue();
    GraphStep& step = graph_.steps.back();
    graph_.definitions[value] = static_cast<uint32_t>(graph_.steps.size() - 1);
    step.to = {.value = value, .bits = to.bits, .shift = to.shift};
    if (to.merges && temporary == nullptr) step.old = registers_[index];
    if (step.old != kNoValue) step.zero_extends = false;
    // Where it is not sure that a register is written, its upper half may stay.
    if (opaque || (may_not_write_ && temporary == nullptr)) step.zero_extends = false;
    if (temporary != nullptr)
      *temporary = {.value = value, .opaque = opaque};
    else
      registers_[index] = value;
  }

  void AddComputation(const MachineStep& step) {
    const bool opaque = step.operation == StepOperation::kOther ||
                        (step.operation == StepOperation::kCopy && IsOpaque(step.a));
    const ValueSlice a = Read(step.a);
    const ValueSlice b = Read(step.b);
    const ValueSlice c = Read(step.c);
    GraphStep& made = Add(opaque ? GraphStep::Kind::kMerge : GraphStep::Kind::kCompute);
    made.operation = step.operation;
    made.condition = step.condition;
    made.bits = step.bits;
    made.a = a;
    made.b = b;
    made.c = c;
    const bool moves = step.operation == StepOperation::kCopy ||
                       step.operation == StepOperation::kAdd ||
                       step.operation == StepOperation::kSubtract;
    const bool on_stack = moves && IsStackPointer(step.a);
    Write(step.to, opaque);
    if (Temporary* temporary = TemporaryOf(step.to)) temporary->on_stack = on_stack;
  }

  void AddMemory(const MachineStep& step, GraphStep::Kind kind) {
    const uint32_t address = AddressOf(step.memory);
    const ValueSlice a = Read(step.a);
    const ValueSlice b = Read(step.b);
    const bool on_stack = IsAtStack(step.memory);
    GraphStep& made = Add(kind);
    made.address = address;
    made.bits = step.bits;
    made.has_mask = facts_.has_mask;
    made.on_stack = on_stack;
    made.condition = step.condition;
    made.a = a;
    made.b = b;
    if (kind == GraphStep::Kind::kLoad || kind == GraphStep::Kind::kAddress)
      Write(step.to, kind == GraphStep::Kind::kLoad && step.bits > 8);
  }

  void AddOutcome(const MachineStep& step) {
    if (!facts_.decides_by_flags || !facts_.LeadsTo(came_to_) || !facts_.target ||
        between_ == Between::kAllMayChange || *facts_.target == facts_.behind)
      return;
    const ValueSlice flags = Read(step.a);
    GraphStep& outcome = Add(GraphStep::Kind::kOutcome);
    outcome.condition = step.condition;
    outcome.a = flags;
    outcome.constant = came_to_ == *facts_.target ? 1 : 0;
  }

  void AddStep(const MachineStep& step) {
    switch (step.kind) {
      case StepKind::kCompute:
        return AddComputation(step);
      case StepKind::kAddress:
        return AddMemory(step, GraphStep::Kind::kAddress);
      case StepKind::kLoad:
        return AddMemory(step, GraphStep::Kind::kLoad);
      case StepKind::kStore:
        return effects_.writes_elsewhere ? void() : AddMemory(step, GraphStep::Kind::kStore);
      case StepKind::kStoreIf:
        return AddMemory(step, GraphStep::Kind::kStoreIf);
      case StepKind::kBranch:
        return AddOutcome(step);
      case StepKind::kIndirectJump: {
        if (!facts_.LeadsTo(came_to_) || between_ == Between::kAllMayChange) return;
        const ValueSlice target = Read(step.a);
        GraphStep& equal = Add(GraphStep::Kind::kEqual);
        equal.a = target;
        equal.constant = came_to_;
        equal.mask = AddressMask(path_.mode);
        return;
      }
      case StepKind::kClock:
      case StepKind::kRandom:
        Add(GraphStep::Kind::kMerge);
        return Write(step.to, true);
      case StepKind::kStoreTry:
        // The store may not have been done.
        Add(GraphStep::Kind::kForget);
        Add(GraphStep::Kind::kMerge);
        return Write(step.to, true);
      default:
        return;
    }
  }

  const ExecutedPath& path_;
  ValueGraph graph_;
  std::array<ValueId, kFollowed> registers_{};
  std::array<Temporary, kTemporaries> temporaries_{};
  InstructionEffects effects_;
  InstructionFacts facts_;
  uint64_t came_to_ = 0;
  Between between_ = Between::kNothing;
  uint32_t instruction_ = 0;
  bool may_not_write_ = false;  // a compare and swap
  OpenCalls calls_;
};

}  // namespace

ValueGraph GraphOf(const ExecutedPath& path) { return GraphBuilder(path).Build(); }

}  // namespace flowback::values
