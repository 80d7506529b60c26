// SPDX-License-Identifier: MIT
#include "decode/branch_stack/judge.h"

namespace flowback::branch_stack {
namespace {

// No branch of a program leads into the kernel but those that are made for it. Where the target is
// hidden it was the kernel that is.
bool EntersKernel(const BranchRecord& record) {
  return record.to == 0 || (!IsKernelAddress(record.from) && IsKernelAddress(record.to));
}

// Whether an instruction of that class can be what the record calls it.
bool Agrees(BranchKind kind, InstructionClass instruction) {
  switch (kind) {
    case BranchKind::kConditional:
      return instruction == InstructionClass::kConditional;
    case BranchKind::kJump:
      return instruction == InstructionClass::kJump || instruction == InstructionClass::kFarJump;
    case BranchKind::kIndirectJump:
      return instruction == InstructionClass::kIndirectJump ||
             instruction == InstructionClass::kFarJump;
    case BranchKind::kCall:
      return instruction == InstructionClass::kCall || instruction == InstructionClass::kFarCall;
    case BranchKind::kIndirectCall:
      return instruction == InstructionClass::kIndirectCall ||
             instruction == InstructionClass::kFarCall;
    case BranchKind::kReturn:
      return instruction == InstructionClass::kReturn ||
             instruction == InstructionClass::kFarReturn;
    case BranchKind::kSystemCall:
      return instruction == InstructionClass::kFarCall;
    case BranchKind::kSystemReturn:
    case BranchKind::kExceptionReturn:
      return instruction == InstructionClass::kFarReturn;
    default:
      return true;
  }
}

}  // namespace

bool IsAsynchronous(const BranchRecord& record) {
  switch (record.kind) {
    case BranchKind::kInterrupt:
    case BranchKind::kSystemError:
    case BranchKind::kAlignmentFault:
    case BranchKind::kDataFault:
    case BranchKind::kInstructionFault:
      return true;
    default:
      return record.aborted;
  }
}

Judgement Judge(const BranchRecord& record, const flow::BlockGraph& graph,
                const StraightLine& line) {
  const InstructionClass instruction = graph.node(line.node).last;
  if (IsAsynchronous(record)) return {Verdict::kInterrupted, {}};
  if (EntersKernel(record) && !(line.at_branch && IsFar(instruction)))
    return {Verdict::kInterrupted, {}};
  if (!line.at_branch) return {Verdict::kContradicts, LossCause::kNoBranchThere};
  if (IsDirect(instruction) && graph.SuccessorAddress(line.node, 1) != record.to)
    return {Verdict::kContradicts, LossCause::kOtherTarget};
  if (!Agrees(record.kind, instruction)) return {Verdict::kContradicts, LossCause::kOtherKind};
  return {};
}

}  // namespace flowback::branch_stack
