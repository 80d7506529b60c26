// SPDX-License-Identifier: MIT
#include "replay/crash/dump/doubt.h"

#include <signal.h>

#include <algorithm>
#include <array>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

bool IsDirectJump(const DoubtFacts& facts) {
  Instruction one;
  return Classify(facts.code, facts.mode, one) &&
         (one.kind == InstructionClass::kJump || one.kind == InstructionClass::kConditional);
}

// Whether all that the instruction does is known, and `may` holds for each step. An instruction of
// no steps, as HLT, may do anything.
template <class May>
bool DoesOnly(const DoubtFacts& facts, const May& may) {
  if (IsDirectJump(facts)) return true;
  InstructionEffects effects;
  return EffectsOf(facts.code, facts.address, facts.mode, effects) && !effects.writes_elsewhere &&
         !effects.steps.empty() && std::ranges::all_of(effects.steps, [&](const MachineStep& step) {
           return step.operation != StepOperation::kOther && may(step.kind);
         });
}

bool AccessesNothing(const DoubtFacts& facts) {
  return DoesOnly(facts, [](StepKind kind) {
    return kind == StepKind::kCompute || kind == StepKind::kAddress || kind == StepKind::kPause;
  });
}

// The instructions that programs are made of. Others may be too new for the processor, or for the
// system only.
bool IsLegal(const DoubtFacts& facts) {
  return DoesOnly(facts, [](StepKind kind) {
    return kind == StepKind::kCompute || kind == StepKind::kAddress || kind == StepKind::kLoad ||
           kind == StepKind::kStore || kind == StepKind::kCall || kind == StepKind::kReturn ||
           kind == StepKind::kIndirectJump;
  });
}

// Returns whether the instruction divides integers, or computes with floating-point numbers, whose
// exceptions a program may switch on.
bool MayDivide(std::string_view text) {
  constexpr std::array<std::string_view, 6> kRegisters = {"xmm", "ymm", "zmm", "st(", "mm", "st0"};
  const std::string_view mnemonic = text.substr(0, text.find(' '));
  return mnemonic.starts_with('f') || mnemonic.find("div") != std::string_view::npos ||
         std::ranges::any_of(kRegisters, [&](std::string_view name) {
           return text.find(name) != std::string_view::npos;
         });
}

}  // namespace

bool IsAccessible(const DoubtFacts& facts) {
  if (facts.access == nullptr || !facts.access->address || facts.core == nullptr) return false;
  const uint64_t address = *facts.access->address;
  uint8_t byte = 0;
  if (facts.core->Memory(address, {&byte, 1}) != 1) return false;
  if (!facts.access->is_store) return true;
  const auto is_writable = facts.core->IsWritable(address);
  return is_writable ? *is_writable : facts.images.Read(facts.space, address, {&byte, 1}) != 1;
}

SignalDoubt DoubtOf(const DoubtFacts& facts) {
  switch (facts.signal) {
    case SIGSEGV:
    case SIGBUS:
      if (AccessesNothing(facts)) return SignalDoubt::kNoAccess;
      return IsAccessible(facts) ? SignalDoubt::kAccessible : SignalDoubt::kNone;
    case SIGFPE:
      return MayDivide(facts.text) ? SignalDoubt::kNone : SignalDoubt::kNoDivision;
    case SIGTRAP:
      // A breakpoint has executed when it raises the signal.
      if (facts.before.starts_with("int")) return SignalDoubt::kNone;
      [[fallthrough]];
    case SIGILL:
      return IsLegal(facts) ? SignalDoubt::kLegal : SignalDoubt::kNone;
    default:
      return SignalDoubt::kNone;
  }
}

}  // namespace flowback
