// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/stack_judge.h"

#include <algorithm>

#include "replay/calls/shadow_stack/stack_leap.h"

namespace flowback {
namespace {

bool LeadsAnywhere(InstructionClass last) {
  return last == InstructionClass::kIndirectCall || last == InstructionClass::kIndirectJump;
}

BlockRun RunOf(const BlockTable& table, const CodeBlock& block) {
  BlockRun run;
  run.address = block.address;
  run.lengths = {block.lengths, block.count};
  run.mode = table.mode();
  run.space = &table.space();
  return run;
}

}  // namespace

StackJudge::Table& StackJudge::Of(const BlockTable& table) {
  if (table_ != &table) {
    table_ = &table;
    of_table_ = &tables_[&table];
  }
  if (of_table_->known.size() < 2 * table.size()) of_table_->known.resize(4 * table.size());
  return *of_table_;
}

StepMeaning StackJudge::Of(const BlockTable& table, BlockStep step, uint64_t next) {
  Table& of = Of(table);
  const CodeBlock& block = table[step.number()];
  if (step.taken() && LeadsAnywhere(block.last)) {
    Last& last = of.last[step.value];
    if (last.next != next) last = {next, Judge(table, block, true, next)};
    return last.meaning;
  }
  StepMeaning& known = of.known[step.value];
  if (known == StepMeaning::kUnknown) known = Judge(table, block, step.taken(), next);
  return known;
}

StepMeaning StackJudge::Judge(const BlockTable& table, const CodeBlock& block, bool taken,
                              uint64_t next) {
  // A call of 32-bit code reads its return address to know where it is, and AArch64 keeps that in a
  // register: what they save is known only with the stack at hand.
  if (table.mode() != CodeMode::kX86_64) return StepMeaning::kUnusual;
  const StackUse use = BlockUses::Look(table, block);
  if (IsUnusual(RunOf(table, block), use)) return StepMeaning::kUnusual;
  if (!taken) return StepMeaning::kStays;
  switch (block.last) {
    case InstructionClass::kOther:
      return StepMeaning::kStays;
    case InstructionClass::kIndirectJump:
      if ((use.flags & kLoadsStackPointer) != 0) return StepMeaning::kUnusual;
      return JudgeJump(&table.space(), block, next);
    case InstructionClass::kConditional:
    case InstructionClass::kJump:
      return JudgeJump(&table.space(), block, next);
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
      return JudgeCall(&table.space(), block, next);
    case InstructionClass::kReturn:
      return StepMeaning::kReturns;
    default:
      return StepMeaning::kUnusual;
  }
}

bool StackJudge::IsUsual(const BlockRun& run) {
  return run.mode == CodeMode::kX86_64 && !IsUnusual(run, uses_.Of(run));
}

// A frame pointer that is copied back to the stack pointer leads to the function's own frame.
bool StackJudge::IsUnusual(const BlockRun& run, StackUse use) {
  if ((use.flags & (kKeepsStackPointer | kReturnWasPushed | kReturnWasReplaced)) != 0) return true;
  if ((use.flags & kLoadsStackPointer) != 0 && use.loaded_from != kFramePointer) return true;
  if ((use.flags & kReadsReturnAddress) != 0) {
    const FunctionPiece own = functions_.Find(run.space, run.address);
    if (!own.Holds(run.address) || own.begin == run.address) return true;
  }
  return (use.flags & kTakesAddresses) != 0 && TakesOwnPlace(run);
}

// As CallStack::Impl::IsSavedBy.
bool StackJudge::TakesOwnPlace(const BlockRun& run) {
  if (run.space == nullptr) return true;
  const FunctionPiece own = functions_.Find(run.space, run.address);
  return std::ranges::any_of(uses_.PlacesOf(run), [&](const TakenPlace& place) {
    if (own.Holds(place.address)) return place.address != own.begin || !own.is_entry;
    const FunctionPiece other = functions_.Find(run.space, place.address);
    if (own.id != 0 || other.id != 0) return own.id == other.id && !other.is_entry;
    const CodeMapping* mapping = run.space->Find(run.address);
    return mapping != nullptr && mapping == run.space->Find(place.address);
  });
}

StepMeaning StackJudge::JudgeJump(const AddressSpace* space, const CodeBlock& block,
                                  uint64_t next) {
  const FunctionPiece from = functions_.Find(space, block.LastAddress());
  if (from.Holds(next)) return StepMeaning::kStays;
  const FunctionPiece to = functions_.Find(space, next);
  // A stub that leads to no function leaves its call open for another one.
  if (to.id == 0) return from.is_stub ? StepMeaning::kUnusual : StepMeaning::kStays;
  if (to.id == from.id) return StepMeaning::kStays;
  if (!to.is_entry || to.begin != next) return StepMeaning::kUnusual;
  // Its call may be of the other function already, or of both.
  if ((from.id == 0 && !from.is_stub) || to.Holds(block.LastAddress()))
    return StepMeaning::kUnusual;
  if (to.is_stub) return from.is_stub ? StepMeaning::kUnusual : StepMeaning::kReplacesByStub;
  return from.is_stub ? StepMeaning::kLeadsOn : StepMeaning::kReplaces;
}

StepMeaning StackJudge::JudgeCall(const AddressSpace* space, const CodeBlock& block,
                                  uint64_t next) {
  if (next != block.address + block.size) return StepMeaning::kCalls;
  const FunctionPiece target = functions_.Find(space, next);
  return target.is_entry && target.begin == next ? StepMeaning::kCalls : StepMeaning::kStays;
}

}  // namespace flowback
