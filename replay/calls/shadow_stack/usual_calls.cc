// SPDX-License-Identifier: MIT
// Handles the flow's blocks many at a time. Nearly all of them go on in their function, call
// another one, or return to its call.
//
// Other facts about a block, its branch's target and the code there are found out at its first
// execution, and kept by the number of the step. Later ones cost a look at that: four blocks within
// a function one addition, a call or a return a few comparisons with what the stack is at the
// moment. All other flow is handled block by block (call_stack.cc).
#include <algorithm>
#include <utility>

#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/call_flow.h"

namespace flowback {
namespace {

constexpr size_t kMovesTogether = 256;

}  // namespace

[[gnu::always_inline]] inline void CallStack::Impl::CountOnly(uint64_t instructions) {
  if (instructions == 0) return;
  stacks_.now.instructions += instructions;
  calls().back().self += instructions;
}

// The last block of a batch sets the time of what comes next.
void CallStack::Impl::OnBlocks(const BlockBatch& batch) {
  const BlockUses::TableUses known = uses_.InTable(*batch.table);
  const AddressSpace* const space = &batch.table->space();
  BlockRuns runs(batch);
  do {
    if (CanCount()) FollowUsual(runs, known);
    if (!runs.Next()) break;
    StackUse& use = known.uses[runs.step().number()];
    if (use.flags == BlockUses::kNotLooked) use = LookAt(runs);
    const bool may_stay = !runs.IsLast() && CanCount() && (use.flags & kOfItsBlock) == 0 &&
                          use.keeps == 0 && StaysInPiece(runs, space);
    if (!may_stay) {
      LearnWay(runs, use, known);
      TellMoves();
      OnBlock(runs.run(), use);
      continue;
    }
    space_ = space;
    CountOnly(runs.block().count);
    LearnPlain(runs, known);
  } while (!runs.IsLast());
  TellMoves();
}

// Looks at a block once. Most addresses that code takes are not of its own function.
StackUse CallStack::Impl::LookAt(BlockRuns& runs) {
  StackUse use = BlockUses::Look(runs.table(), runs.block());
  if ((use.flags & kTakesAddresses) == 0) return use;
  const BlockRun& run = runs.run();
  const bool saves = std::ranges::any_of(
      uses_.PlacesOf(run), [&](const TakenPlace& place) { return IsSavedBy(run, place.address); });
  if (!saves) use.flags &= ~kTakesAddresses;
  return use;
}

// REQUIRES: the flow is still in the address space that they were made in.
void CallStack::Impl::TellMoves() {
  if (moves_.empty()) return;
  listener_.OnUsual(moves_, space_);
  moves_.clear();
}

// Its instructions, and its time.
[[gnu::always_inline]] inline void CallStack::Impl::PassNext(BlockRuns& runs,
                                                             uint16_t instructions) {
  CountOnly(instructions);
  runs.Skip(instructions);
  const BlockRuns::End end = runs.end();
  if (end.tsc != 0) stacks_.now.tsc = end.tsc;
  stacks_.now.bounds = end.bounds;
}

[[gnu::always_inline]] inline void CallStack::Impl::AddMove(bool enters, CallEntry entry,
                                                            uint64_t entry_ip, uint64_t value) {
  moves_.push_back({.instructions = stacks_.now.instructions,
                    .tsc = stacks_.now.tsc,
                    .bounds = stacks_.now.bounds,
                    .enters = enters,
                    .entry = entry,
                    .entry_ip = entry_ip,
                    .value = value});
  if (moves_.size() == kMovesTogether) TellMoves();
}

// The next step's block calls the function at `target`. TellEntered follows.
[[gnu::always_inline]] inline void CallStack::Impl::PushUsual(BlockRuns& runs, uint64_t target,
                                                              uint64_t function) {
  const CodeBlock& block = runs.table()[runs.next_step().number()];
  PassNext(runs, block.count);
  stacks_.PushUsual(target, block.LastAddress(), block.address + block.size, function, space_);
  if (wants_usual_ == UsualCallDelivery::kTogether)
    AddMove(true, CallEntry::kCall, target, function);
}

[[gnu::always_inline]] inline void CallStack::Impl::TellEntered() {
  if (wants_usual_ == UsualCallDelivery::kEach)
    listener_.OnEnter(calls().back(), calls().size() - 1);
}

[[gnu::always_inline]] inline bool CallStack::Impl::CallsUsually(BlockRuns& runs,
                                                                 const BlockUses::Entry& entry) {
  const BlockTable& table = runs.table();
  const CodeBlock& block = table[runs.next_step().number()];
  const uint64_t target = table[runs.second_step().number()].address;
  if (!entry.is_usual || target == block.address + block.size || !stacks_.HasRoom()) return false;
  PushUsual(runs, target, entry.function);
  TellEntered();
  return true;
}

// A call of a stub which jumps on to the function itself: both are one call.
[[gnu::always_inline]] inline bool CallStack::Impl::CallsThroughStub(
    BlockRuns& runs, const BlockUses::TableUses& known) {
  if (!runs.HasThree() || !stacks_.HasRoom() ||
      known.ways[runs.second_step().value] != BlockUses::Way::kStubJump)
    return false;
  const BlockTable& table = runs.table();
  const BlockUses::Entry& entry = known.entries[runs.third_step().number()];
  const CodeBlock& block = table[runs.next_step().number()];
  const CodeBlock& stub = table[runs.second_step().number()];
  if (!entry.ends_stub || stub.address == block.address + block.size) return false;
  PushUsual(runs, table[runs.third_step().number()].address, entry.function);
  calls().back().via_stub = true;
  PassNext(runs, stub.count);
  TellEntered();
  return true;
}

[[gnu::always_inline]] inline bool CallStack::Impl::JumpsWithin(BlockRuns& runs,
                                                                const BlockUses::TableUses& known) {
  const BlockTable& table = runs.table();
  const uint32_t number = runs.next_step().number();
  if (!known.jumps[number].Holds(table[runs.second_step().number()].address)) return false;
  CountOnly(table[number].count);
  runs.Skip(table[number].count);
  return true;
}

[[gnu::always_inline]] inline bool CallStack::Impl::ReturnsUsually(BlockRuns& runs) {
  const BlockTable& table = runs.table();
  const Call& top = calls().back();
  if (top.return_address != table[runs.second_step().number()].address ||
      (top.stack_use & kOfItsCall) != 0 || stacks_.HasGuess())
    return false;
  PassNext(runs, table[runs.next_step().number()].count);
  if (wants_usual_ == UsualCallDelivery::kEach) {
    stacks_.Pop(CallExit::kReturn);
  } else {
    const CallEntry entry = top.entry;
    const uint64_t instructions = stacks_.PopUsual();
    if (wants_usual_ == UsualCallDelivery::kTogether) AddMove(false, entry, 0, instructions);
  }
  return CanCount();
}

// Up to a step that may be anything else, or the last one. REQUIRES: CanCount.
void CallStack::Impl::FollowUsual(BlockRuns& runs, const BlockUses::TableUses& known) {
  space_ = &runs.table().space();
  for (;;) {
    CountOnly(runs.PassOver(known.plain));
    if (!runs.HasTwo() || !stacks_.announced()) return;
    if (!FollowWay(runs, known)) return;
  }
}

// Returns whether the next step was passed over.
[[gnu::always_inline]] inline bool CallStack::Impl::FollowWay(BlockRuns& runs,
                                                              const BlockUses::TableUses& known) {
  switch (known.ways[runs.next_step().value]) {
    case BlockUses::Way::kCall: {
      const BlockUses::Entry& entry = known.entries[runs.second_step().number()];
      return entry.is_stub ? CallsThroughStub(runs, known) : CallsUsually(runs, entry);
    }
    case BlockUses::Way::kReturn:
      return ReturnsUsually(runs);
    case BlockUses::Way::kJump:
      return JumpsWithin(runs, known);
    case BlockUses::Way::kStubJump:
    case BlockUses::Way::kOther:
      return false;
  }
  return false;
}

// An indirect jump may lead elsewhere the next time.
void CallStack::Impl::LearnPlain(const BlockRuns& runs, const BlockUses::TableUses& known) {
  if (!runs.taken() || runs.block().last != InstructionClass::kIndirectJump) {
    known.plain[runs.step().value] = runs.block().count;
    return;
  }
  const FunctionPiece& piece = PieceAt(&runs.table().space(), runs.block().LastAddress());
  known.ways[runs.step().value] = BlockUses::Way::kJump;
  known.jumps[runs.step().number()] = {.begin = piece.begin, .end = piece.end};
}

// Learns the facts about usual blocks once.
void CallStack::Impl::LearnWay(const BlockRuns& runs, StackUse use,
                               const BlockUses::TableUses& known) {
  if (runs.IsLast() || !runs.taken() || use.flags != 0 || use.keeps != 0) return;
  switch (runs.block().last) {
    case InstructionClass::kReturn:
      known.ways[runs.step().value] = BlockUses::Way::kReturn;
      return;
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
      return LearnCall(runs, known);
    case InstructionClass::kIndirectJump:
      return LearnStub(runs, known);
    default:
      return;
  }
}

void CallStack::Impl::LearnCall(const BlockRuns& runs, const BlockUses::TableUses& known) {
  known.ways[runs.step().value] = BlockUses::Way::kCall;
  BlockUses::Entry& entry = known.entries[runs.next_step().number()];
  if (entry.is_usual || entry.is_stub) return;
  const FunctionPiece target = PieceAt(&runs.table().space(), runs.next());
  entry.function = target.id;
  entry.is_usual = !target.is_stub;
  entry.is_stub = target.is_stub;
}

// Where a stub's jump has led to.
void CallStack::Impl::LearnStub(const BlockRuns& runs, const BlockUses::TableUses& known) {
  const AddressSpace* const space = &runs.table().space();
  BlockUses::Entry& entry = known.entries[runs.next_step().number()];
  if (!PieceAt(space, runs.block().LastAddress()).is_stub) return;
  known.ways[runs.step().value] = BlockUses::Way::kStubJump;
  if (entry.ends_stub) return;
  const FunctionPiece target = PieceAt(space, runs.next());
  if (target.id == 0 || !target.is_entry || target.is_stub || target.begin != runs.next()) return;
  entry.function = target.id;
  entry.ends_stub = true;
}

// Whether there is nothing but instructions to count.
bool CallStack::Impl::StaysInPiece(const BlockRuns& runs, const AddressSpace* space) {
  if (!runs.taken()) return true;
  const CodeBlock& block = runs.block();
  const bool jumps = block.last == InstructionClass::kConditional ||
                     block.last == InstructionClass::kJump ||
                     block.last == InstructionClass::kIndirectJump;
  if (!jumps) return false;
  const FunctionPiece from = PieceAt(space, block.LastAddress());
  if (from.Holds(runs.next())) return true;
  if (block.last == InstructionClass::kIndirectJump) return false;
  // To another piece of the function, or to what no symbol covers.
  const uint64_t to = functions_.Find(space, runs.next()).id;
  return to == 0 || to == from.id;
}

}  // namespace flowback
