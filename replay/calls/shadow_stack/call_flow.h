// SPDX-License-Identifier: MIT
// How a thread's flow becomes calls.
//
// The model keeps what a shadow stack would: for each call its return address. A return to the
// innermost return address is the normal case and costs one comparison. Everything else is told
// apart by what the trace, the code and the symbols prove:
//
// * Code that loads the stack pointer from elsewhere than its frame goes to another stack, or far
//   out on its own. Where its return or indirect jump leads to says which: to the return address
//   with which another stack was left; to where an exception lands that passes a call on this one
//   (the file's tables say where that is); behind a call of setjmp that a call on this one made
//   (such a function reads its own return address, to keep it); to another place that its code had
//   saved (the address of a place within its own function); into the middle of a function that is
//   on this stack, where no call returns to and where the code that leaps did not keep the stack
//   pointer that it leaves; or to a place that no stack knows: then a new one begins there.
// * A return to the return address of a call further out, or into a function that is on the stack:
//   what lies above was unwound. The same for a jump into the middle of a function on the stack.
// * A jump to another function's entry is a tail call: it inherits the return address. The stub of
//   a procedure linkage table does nothing but that, so stub and function count as one call.
// * A return to what the code has pushed, or written over its return address, is a jump (a
//   retpoline). So is one to a function's entry.
// * A return from the outermost call goes to a caller that was not known yet.
// * Where user code alone is traced the kernel is a gap in the flow. It goes on where it stopped,
//   or the kernel has put a handler on the stack, which ends when the flow goes on at that place
//   after all. Or exec has replaced the program: then the old code is not mapped any more.
// * A recording of parts stops in one function and goes on in another. The thread did anything in
//   between, so the stack starts anew.
// * After a loss nothing is known: the stack starts anew, with its callers found as they return.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "decode/instruction/stack_use.h"
#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/block_uses.h"
#include "replay/calls/shadow_stack/call_bytes.h"
#include "replay/calls/shadow_stack/stack_leap.h"
#include "replay/calls/shadow_stack/stack_set.h"

namespace flowback {

class CallStack::Impl {
 public:
  Impl(FunctionFinder& functions, CallListener& listener)
      : functions_(functions),
        listener_(listener),
        wants_usual_(listener.WantsUsual()),
        stacks_(listener) {}

  void LookForExec(ExecBetween exec_between) { exec_between_ = std::move(exec_between); }
  void LookForPauses(const MachineInfo& machine);
  void BeginsWithThread() { stacks_.has_unseen = false; }
  void Inherit(std::vector<Call> calls) { inherited_ = std::move(calls); }
  void OnBlock(const BlockRun& run) { OnBlock(run, uses_.Of(run)); }
  void OnBlock(const BlockRun& run, StackUse use);
  void OnBlocks(const BlockBatch& batch);
  void Arrive(const BlockRun& run);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss);
  void NoteRepeats();
  void Finish();

  const StackSet& stacks() const { return stacks_; }
  bool MayLeap() const;
  size_t NoLeapBelow() const;
  bool GoOnBehind(const StackLeap& leap);
  void BeginAnew(const AddressSpace* space, uint64_t address, uint64_t instructions);
  uint64_t stopped_at() const { return stop_.active ? stop_.expected : 0; }
  std::vector<uint8_t> ToBytes(const SpaceNames& spaces) const;
  bool FromBytes(Bytes bytes, const SpaceNames& spaces);

 private:
  // Where the flow stopped and what it should go on with. It may stop again before an instruction
  // is executed, as at a page that is not there: then `gap` is the newest one.
  struct Stop {
    bool active = false;
    UntracedGap gap;
    UntracedGap::Cause cause{};  // of the first gap
    uint64_t site = 0;           // where it was called
    uint64_t begin_tsc = 0;      // when it was called
    uint64_t expected = 0;       // address; 0: anywhere
  };
  // The last instruction of a run, which transfers control.
  struct Leap {
    const BlockRun& run;
    uint64_t site = 0;
    uint8_t use = 0;  // StackUseFlag bits of the block

    uint64_t target() const { return run.next; }
  };

  void NoteUse(StackUse& use, const BlockRun& run, Call& call);
  void SavePlaces(const BlockRun& run);
  bool IsSavedBy(const BlockRun& run, uint64_t address);
  StackUse LookAt(BlockRuns& runs);
  // Nothing but the flow's next block is waited for, in a call.
  bool CanCount() const { return !stop_.active && !stacks_.calls().empty(); }
  void CountOnly(uint64_t instructions);
  bool StaysInPiece(const BlockRuns& runs, const AddressSpace* space);
  void LearnPlain(const BlockRuns& runs, const BlockUses::TableUses& known);
  void LearnWay(const BlockRuns& runs, StackUse use, const BlockUses::TableUses& known);
  void LearnCall(const BlockRuns& runs, const BlockUses::TableUses& known);
  void LearnStub(const BlockRuns& runs, const BlockUses::TableUses& known);
  void FollowUsual(BlockRuns& runs, const BlockUses::TableUses& known);
  bool FollowWay(BlockRuns& runs, const BlockUses::TableUses& known);
  bool CallsUsually(BlockRuns& runs, const BlockUses::Entry& entry);
  void PushUsual(BlockRuns& runs, uint64_t target, uint64_t function);
  void TellEntered();
  bool CallsThroughStub(BlockRuns& runs, const BlockUses::TableUses& known);
  bool ReturnsUsually(BlockRuns& runs);
  bool JumpsWithin(BlockRuns& runs, const BlockUses::TableUses& known);
  void AddMove(bool enters, CallEntry entry, uint64_t entry_ip, uint64_t value);
  void TellMoves();
  void PassNext(BlockRuns& runs, uint16_t instructions);
  void Resume(const BlockRun& run);
  void ResumeElsewhere(const BlockRun& run, const Stop& stop);
  void EndHandler(const FunctionPiece& target, const BlockRun& run);
  void Enter(CallEntry entry, const FunctionPiece& target, const AddressSpace* space, uint64_t ip,
             uint64_t resume = 0);
  bool IsOtherProgram(const BlockRun& run, const Stop& stop) const;
  bool IsPause(const BlockRun& run, const Stop& stop) const;
  void Pause(const Stop& stop);
  void Transfer(const Leap& leap, uint64_t after);
  void StopAt(const BlockRun& run, uint64_t site, uint64_t after);
  void NoteCallNumber(const BlockRun& run);
  void BeginStop(UntracedGap::Cause cause, uint64_t site, uint64_t expected);
  void CallTo(const Leap& leap, uint64_t after);
  void ReturnTo(const Leap& leap);
  void ReturnOnLoadedStack(const Leap& leap);
  void GoToUnknown(const Leap& leap, const FunctionPiece& target);
  bool LandOn(const Leap& leap);
  bool LandOnPad(const Leap& leap);
  bool LandOnSaved(const Leap& leap);
  void LeapWithinFunction(const Leap& leap, const FunctionPiece& target);
  bool WasSavedJustNow(const SavedPlace& place);
  size_t FindSaved(const Leap& leap);
  bool IsSaved(const Leap& leap);
  bool IsStillThere(const SavedPlace& place, const Leap& leap);
  bool LandInActive(const Leap& leap, const FunctionPiece& target);
  void ReturnInner();
  bool IsPlainJump(const Leap& leap);
  void ReturnToUnknown(const Leap& leap);
  void FindCaller(const Leap& leap, const FunctionPiece& target);
  bool FindInherited(uint64_t address);
  void FarReturnTo(const Leap& leap);
  void JumpTo(const Leap& leap);
  bool BeginsOnLoadedStack(const Leap& leap);
  void JumpOnLoadedStack(const Leap& leap);
  void TailCall(const FunctionPiece& target, const Leap& leap);
  void Interrupt(const TraceEvent& event);
  void ReadFlow(CallReader& in);
  void UnwindToReturn(uint64_t address);
  void UnwindToFunction(uint64_t id);
  void UnwindInto(const FunctionPiece& target, const Leap& leap);
  void Cut(CallExit how, uint64_t tsc);
  const FunctionPiece& PieceAt(const AddressSpace* space, uint64_t ip);
  std::vector<Call>& calls() { return stacks_.calls(); }

  FunctionFinder& functions_;
  ExecBetween exec_between_;
  // The offsets in their files of the functions at which recording goes on, and stops.
  std::vector<uint64_t> goes_on_in_;
  std::vector<uint64_t> stops_in_;
  std::vector<Call> inherited_;
  CallListener& listener_;
  const UsualCallDelivery wants_usual_;
  std::vector<UsualMove> moves_;  // not handed on yet, with UsualCallDelivery::kTogether
  StackSet stacks_;
  BlockUses uses_;
  Stop stop_;
  const AddressSpace* space_ = nullptr;
  FunctionPiece piece_;    // the last one looked up
  uint64_t piece_ip_ = 0;  // for that address
  const AddressSpace* piece_space_ = nullptr;
  // Calls looked at for where exceptions land: no more than instructions executed, even if a trace
  // has odd returns.
  uint64_t searched_ = 0;
  static constexpr uint8_t kOfItsCall = kLoadsStackPointer | kReadsReturnAddress;
  static constexpr uint8_t kOfItsBlock = kOfItsCall | kKeepsStackPointer | kTakesAddresses;
  // A place counts as saved just now while its call has executed at most this many instructions of
  // its own since.
  static constexpr uint64_t kFewSince = 64;
  static constexpr uint64_t kSearchedAhead = uint64_t{1} << 22;
};

}  // namespace flowback
