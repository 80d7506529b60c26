// SPDX-License-Identifier: MIT
// Adds steps to the effects of one instruction. The makers of each instruction set derive from it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "decode/instruction/effects.h"

namespace flowback {

inline constexpr StepOperand kFlagsOperand = RegisterOperand(step_register::kFlags, 64);

// Loads and stores count bytes. Operands larger than a register are the processor's saved state.
constexpr uint8_t BytesOf(unsigned bits) { return static_cast<uint8_t>(std::min(bits / 8, 255U)); }

class StepList {
 public:
  // `name` sets operations apart that are kOther.
  StepList(InstructionEffects& effects, uint64_t name) : effects_(effects), name_(name) {}

  MachineStep& Add(StepKind kind) {
    effects_.steps.push_back({.kind = kind});
    return effects_.steps.back();
  }
  StepOperand Temporary(unsigned bits) {
    return RegisterOperand(step_register::kTemporary + temporaries_++ % kTemporaries, bits);
  }
  StepOperand Compute(StepOperation operation, unsigned bits, StepOperand a, StepOperand b = {},
                      StepOperand c = {}, uint8_t condition = 0) {
    const StepOperand to = Temporary(IsOfFlags(operation) ? 64 : bits);
    ComputeTo(to, operation, bits, a, b, c, condition);
    return to;
  }
  void ComputeTo(StepOperand to, StepOperation operation, unsigned bits, StepOperand a,
                 StepOperand b = {}, StepOperand c = {}, uint8_t condition = 0) {
    MachineStep& step = Add(StepKind::kCompute);
    step.operation = operation;
    step.condition = condition;
    step.bits = static_cast<uint8_t>(std::min(bits, 64U));
    step.to = to;
    step.a = a;
    step.b = b;
    step.c = c;
    step.constant = name_;
  }
  void SetFlags(StepOperation operation, unsigned bits, StepOperand a, StepOperand b = {}) {
    ComputeTo(kFlagsOperand, operation, bits, a, b);
  }
  StepOperand Load(const StepAddress& address, unsigned bits, bool atomic) {
    const StepOperand to = Temporary(std::min(bits, 64U));
    MachineStep& step = Add(StepKind::kLoad);
    step.to = to;
    step.memory = address;
    step.bits = BytesOf(bits);
    step.atomic = atomic;
    return to;
  }
  MachineStep& Store(const StepAddress& address, unsigned bits, StepOperand value, bool atomic,
                     StepKind kind = StepKind::kStore) {
    MachineStep& step = Add(kind);
    step.a = value;
    step.memory = address;
    step.bits = BytesOf(bits);
    step.atomic = atomic;
    return step;
  }
  // A store that is done where the flags say "zero".
  void StoreIfZero(const StepAddress& address, unsigned bits, StepOperand value,
                   StepOperand flags = kFlagsOperand) {
    MachineStep& step = Store(address, bits, value, true, StepKind::kStoreIf);
    step.condition = step_condition::kZero;
    step.b = flags;
  }

 private:
  static constexpr unsigned kTemporaries = step_register::kCount - step_register::kTemporary;

  InstructionEffects& effects_;
  uint64_t name_;
  unsigned temporaries_ = 0;
};

}  // namespace flowback
