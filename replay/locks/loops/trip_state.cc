// SPDX-License-Identifier: MIT
#include "replay/locks/loops/trip_state.h"

#include <algorithm>

#include "replay/locks/loops/trip_changes.h"

namespace flowback {
namespace {

// Linux's system calls in which a thread only lets time pass or sleeps: sched_yield, nanosleep,
// clock_nanosleep, futex.
bool LetsTimePass(uint64_t number, CodeMode mode) {
  switch (mode) {
    case CodeMode::kX86_64:
      return number == 24 || number == 35 || number == 230 || number == 202;
    case CodeMode::kX86_32:
      return number == 158 || number == 162 || number == 267 || number == 407 || number == 240 ||
             number == 422;
    case CodeMode::kAArch64:
      return number == 124 || number == 101 || number == 115 || number == 98;
    default:
      return false;
  }
}

}  // namespace

TripState::TripState(TripValues& values, CodeMode mode) : values_(values), mode_(mode) {
  const unsigned bits = TraitsOf(mode).bits;
  for (size_t i = 0; i < registers_.size(); ++i) {
    const bool general = i < step_register::kVector;
    registers_[i] = values_.Register(static_cast<uint8_t>(i), general ? bits : 64);
  }
}

void TripState::Execute(std::span<const TripInstruction> trip, bool each_load_apart,
                        std::span<const Outcome> outcomes, TripLog& log) {
  outcomes_ = outcomes;
  each_load_apart_ = each_load_apart;
  kernel_ = 0;
  depth_ = 0;
  for (const TripInstruction& instruction : trip)
    for (const MachineStep& step : instruction.steps) Take(step, instruction, log);
}

void TripState::Take(const MachineStep& step, const TripInstruction& instruction, TripLog& log) {
  switch (step.kind) {
    case StepKind::kCompute: {
      const ValueId a = Read(step.a);
      const ValueId b = Read(step.b);
      const ValueId c = Read(step.c);
      Write(step.to, values_.Compute(step.operation, step.bits, a, b, c, step.condition,
                                     step.operation == StepOperation::kOther ? step.constant : 0));
      return;
    }
    case StepKind::kAddress:
      return Write(step.to, AddressOf(step.memory));
    case StepKind::kLoad:
      return Load(step, log);
    case StepKind::kStore:
      return Store(step, log);
    case StepKind::kStoreIf:
    case StepKind::kStoreTry:
      return Try(step, log);
    case StepKind::kBranch: {
      const ValueId holds =
          values_.Compute(StepOperation::kCondition, 1, Read(step.a), 0, 0, step.condition);
      log.conditions.push_back({.value = holds,
                                .taken = instruction.taken,
                                .stays = instruction.stays,
                                .depth = depth_});
      return;
    }
    case StepKind::kIndirectJump:
      log.conditions.push_back(
          {.value = Read(step.a), .next = instruction.next, .indirect = true, .depth = depth_});
      return;
    case StepKind::kCall:
      ++depth_;
      return;
    case StepKind::kReturn:
      --depth_;
      return;
    case StepKind::kPause:
      log.pauses = true;
      return;
    case StepKind::kClock:
      return Write(step.to, values_.Source(ValueKind::kClock, ++sources_));
    case StepKind::kRandom:
      return Write(step.to, values_.Source(ValueKind::kRandom, ++sources_));
    case StepKind::kSystemCall:
      return AskKernel(step, log);
  }
}

ValueId TripState::Read(const StepOperand& operand) {
  if (operand.kind == StepOperand::Kind::kNone) return 0;
  if (operand.kind == StepOperand::Kind::kConstant) return values_.Constant(operand.constant);
  return values_.Bits(registers_[operand.number], operand.bits, operand.shift);
}

void TripState::Write(const StepOperand& operand, ValueId value) {
  ValueId& to = registers_[operand.number];
  to = operand.merges ? values_.Insert(to, value, operand.bits, operand.shift)
                      : values_.Bits(value, operand.bits);
}

ValueId TripState::AddressOf(const StepAddress& memory) {
  using enum StepOperation;
  const unsigned bits = memory.bits;
  ValueId sum = Read(memory.base);
  if (memory.index.kind != StepOperand::Kind::kNone) {
    const ValueId scaled =
        values_.Compute(kMultiply, bits, Read(memory.index), values_.Constant(memory.scale));
    sum = values_.Compute(kAdd, bits, sum, scaled);
  }
  sum = values_.Compute(kAdd, bits, sum, values_.Constant(memory.displacement));
  if (memory.segment.kind == StepOperand::Kind::kNone) return sum;
  // The constant stays outermost, where PlaceOf looks for it.
  const TripValues::Place place = values_.PlaceOf(sum);
  sum = values_.Compute(kAdd, 64, place.base, Read(memory.segment));
  return values_.Compute(kAdd, 64, sum, values_.Constant(place.offset));
}

// The frame pointer counts as one below its value only, where a function's own variables lie; in
// 32-bit code its parameters are above. If another pointer is in that register, stores through it
// are still followed.
bool TripState::IsStack(ValueId base, uint64_t offset) const {
  const TripValue* value = &values_[base];
  // A stack pointer that was aligned.
  while (value->kind == ValueKind::kComputed &&
         (value->operation == StepOperation::kAnd || value->operation == StepOperation::kAdd) &&
         values_.IsConstant(value->b))
    value = &values_[value->a];
  if (value->kind != ValueKind::kRegister) return false;
  if (mode_ == CodeMode::kAArch64)
    return value->constant == step_register::kAArch64StackPointer ||
           value->constant == step_register::kAArch64FramePointer;
  if (value->constant == step_register::kX86StackPointer) return true;
  return value->constant == step_register::kX86FramePointer &&
         (mode_ != CodeMode::kX86_64 || static_cast<int64_t>(offset) < 0);
}

bool TripState::MovesStack() const {
  const uint8_t number = mode_ == CodeMode::kAArch64 ? step_register::kAArch64StackPointer
                                                     : step_register::kX86StackPointer;
  const TripValue& value = values_[registers_[number]];
  return value.kind != ValueKind::kRegister || value.constant != number;
}

ValueId TripState::MemoryValue(ValueId base, uint64_t offset, unsigned bytes) {
  const auto exact = memory_.find({base, offset});
  if (exact != memory_.end() && exact->second.bytes == bytes) return exact->second.value;
  constexpr uint64_t kWidest = 64;
  const auto at_or_above = [&](uint64_t from) { return memory_.lower_bound({base, from}); };
  ValueId mixed = 0;
  for (auto at = at_or_above(offset > kWidest ? offset - kWidest : 0);
       at != memory_.end() && at->first.first == base && at->first.second < offset + bytes; ++at) {
    const uint64_t begin = at->first.second;
    const unsigned size = at->second.bytes;
    if (begin + size <= offset) continue;
    if (begin <= offset && offset + bytes <= begin + size && size <= 8)
      return values_.Bits(at->second.value, bytes * 8, static_cast<unsigned>(offset - begin) * 8);
    mixed = values_.Compute(StepOperation::kOther, 64, at->second.value, mixed,
                            values_.Constant(offset - begin), 0, bytes);
  }
  if (mixed != 0) return mixed;
  return values_.Memory(base, offset, bytes, 0);
}

void TripState::SetMemory(const TripValues::Place& place, unsigned bytes, ValueId value) {
  // Gives up the rest of a partly overwritten value, which mixes it with later ones.
  constexpr uint64_t kWidest = 64;
  auto at = memory_.lower_bound({place.base, place.offset > kWidest ? place.offset - kWidest : 0});
  while (at != memory_.end() && at->first.first == place.base &&
         at->first.second < place.offset + bytes) {
    const bool apart = at->first.second + at->second.bytes <= place.offset;
    const bool inside = at->first.second >= place.offset &&
                        at->first.second + at->second.bytes <= place.offset + bytes;
    if (inside) {
      at = memory_.erase(at);
      continue;
    }
    if (!apart)
      at->second.value = values_.Compute(StepOperation::kOther, 64, at->second.value, value, 0, 0,
                                         place.offset - at->first.second);
    ++at;
  }
  const bool narrow = bytes <= 8;
  memory_[{place.base, place.offset}] = {narrow ? values_.Bits(value, bytes * 8) : value, bytes};
}

void TripState::NoteAccess(const TripValues::Place& place, const MachineStep& step, TripLog& log) {
  const bool stores = step.kind != StepKind::kLoad;
  if (step.atomic) log.atomic = true;
  if (IsStack(place.base, place.offset)) return;
  if (stores && !step.atomic) log.stores = true;
  log.accesses.push_back({place.base, place.offset, step.bits, step.atomic, stores});
}

void TripState::NoteChange(const TripValues::Place& place, bool changes, TripLog& log) {
  if (!IsStack(place.base, place.offset)) log.accesses.back().changes = changes;
}

void TripState::Load(const MachineStep& step, TripLog& log) {
  const TripValues::Place place = values_.PlaceOf(AddressOf(step.memory));
  NoteAccess(place, step, log);
  ValueId value = MemoryValue(place.base, place.offset, step.bits);
  if (each_load_apart_ && !IsStack(place.base, place.offset)) {
    value = values_.Memory(place.base, place.offset, step.bits, ++loads_);
    log.accesses.back().load = loads_;
  }
  Write(step.to, value);
}

void TripState::Store(const MachineStep& step, TripLog& log) {
  const TripValues::Place place = values_.PlaceOf(AddressOf(step.memory));
  NoteAccess(place, step, log);
  const ValueId value = values_.Bits(Read(step.a), std::min(step.bits * 8U, 64U));
  NoteChange(place, value != MemoryValue(place.base, place.offset, step.bits), log);
  SetMemory(place, step.bits, value);
}

Outcome TripState::OutcomeOf(size_t attempt) const {
  return attempt < outcomes_.size() ? outcomes_[attempt] : Outcome::kUnknown;
}

// REQUIRES: it worked. Memory then had the expected value. For an exclusive store that is unknown:
// it counts if its value comes from elsewhere in memory.
bool TripState::Swaps(ValueId decides, ValueId old, ValueId made) const {
  const TripValue& compared = values_[decides];
  if (compared.kind == ValueKind::kComputed) {
    const ValueId expected = compared.a == old ? compared.b : compared.a;
    return made != expected;
  }
  const auto has = [&](const auto& what) { return AnyWithin(values_, made, what); };
  return !has([&](ValueId id) { return id == old; }) &&
         has([&](ValueId id) { return values_[id].kind == ValueKind::kMemory; });
}

void TripState::Try(const MachineStep& step, TripLog& log) {
  const TripValues::Place place = values_.PlaceOf(AddressOf(step.memory));
  NoteAccess(place, step, log);
  const bool exclusive = step.kind == StepKind::kStoreTry;
  const Outcome outcome = OutcomeOf(log.attempts.size());
  const ValueId old = MemoryValue(place.base, place.offset, step.bits);
  const ValueId made = Read(step.a);
  ValueId decides = 0;
  ValueId done = 0;
  if (exclusive) {
    decides = values_.Source(ValueKind::kStoreTried, ++sources_);
    if (outcome == Outcome::kFailed)
      Write(step.to, values_.Constant(1));
    else if (outcome == Outcome::kDone)
      Write(step.to, 0);
    else
      Write(step.to, decides);
    done = decides;
  } else {
    decides = Read(step.b);
    done = values_.Compute(StepOperation::kCondition, 1, decides, 0, 0, step.condition);
    // The comparison as conditions contain it, whichever way round it was made.
    if (values_[done].kind == ValueKind::kComputed) decides = values_[done].a;
  }
  log.attempts.push_back({decides, exclusive});
  ValueId result = old;
  if (outcome == Outcome::kDone) result = made;
  if (outcome == Outcome::kUnknown)
    result = values_.Compute(StepOperation::kSelect, std::min(step.bits * 8U, 64U), done,
                             exclusive ? old : made, exclusive ? made : old);
  NoteChange(place, result != old, log);
  if (outcome == Outcome::kDone && !IsStack(place.base, place.offset))
    log.accesses.back().swaps = Swaps(decides, old, made);
  if (exclusive && !IsStack(place.base, place.offset)) log.accesses.back().exclusive = true;
  if (result != old) SetMemory(place, step.bits, result);
}

// What calls that let time pass return decides nothing: it is the same each time.
void TripState::AskKernel(const MachineStep& step, TripLog& log) {
  const auto number = values_.ConstantOf(Read(step.a));
  if (!number || !LetsTimePass(*number, mode_))
    log.asks_kernel = true;
  else
    log.sleeps = true;
  Write(step.to, values_.Source(ValueKind::kKernel, ++kernel_));
}

}  // namespace flowback
