// SPDX-License-Identifier: MIT
// The model keeps what a shadow stack would: for each call its return address. A return to the
// innermost return address is the normal case and costs one comparison. Everything else is told
// apart by what the trace, the code and the symbols prove:
//
// * Code that loads the stack pointer from elsewhere than its frame goes to another stack, or far
//   out on its own. Where its return or indirect jump leads to says which: to the return address
//   with which another stack was left; to where an exception lands that passes a call on this one
//   (the file's tables say where that is); behind a call of setjmp that a call on this one made
//   (such a function reads its own return address, to keep it); or to a place that no stack knows:
//   then a new one begins there.
// * A return to the return address of a call further out, or into a function that is on the stack:
//   what lies above was unwound. The same for a jump into the middle of a function on the stack.
// * A jump to another function's entry is a tail call: it inherits the return address. The stub of
//   a procedure linkage table does nothing but that, so stub and function are told as one call.
// * A return to what the code has pushed, or written over its return address, is a jump (a
//   retpoline). So is one to a function's entry.
// * A return from the outermost call goes to a caller that was not known yet.
// * Where user code alone is traced the kernel is a gap in the flow. It goes on where it stopped,
//   or the kernel has put a handler on the stack, which ends when the flow goes on at that place
//   after all. Or exec has replaced the program: then the old code is not mapped any more.
// * After a loss nothing is known: the stack starts anew, with its callers found as they return.
#include "flowback/replay/call_stack.h"

#include <algorithm>
#include <utility>

#include "decode/instruction/stack_use.h"
#include "replay/calls/block_uses.h"
#include "replay/calls/stack_set.h"

namespace flowback {

class CallStack::Impl {
 public:
  Impl(FunctionFinder& functions, CallListener& listener)
      : functions_(functions), listener_(listener), stacks_(listener) {}

  void LookForExec(ExecBetween exec_between) { exec_between_ = std::move(exec_between); }
  void OnBlock(const BlockRun& run) { OnBlock(run, uses_.Of(run)); }
  void OnBlock(const BlockRun& run, StackUse use);
  void OnBlocks(const BlockBatch& batch);
  void Arrive(const BlockRun& run);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss);
  void Finish();

  const StackSet& stacks() const { return stacks_; }
  uint64_t stopped_at() const { return stop_.active ? stop_.expected : 0; }

 private:
  // Where the flow stopped and what it should go on with. It may stop again before an instruction
  // is executed, as at a page that is not there: then `gap` is the newest one.
  struct Stop {
    bool active = false;
    UntracedGap gap;
    UntracedGap::Cause cause{};  // of the first gap
    uint64_t site = 0;           // likewise
    uint64_t begin_tsc = 0;      // likewise
    uint64_t expected = 0;       // address; 0: anywhere
  };
  // The last instruction of a run, which transfers control.
  struct Leap {
    const BlockRun& run;
    uint64_t site = 0;
    uint8_t use = 0;  // StackUseFlag bits of the block

    uint64_t target() const { return run.next; }
  };

  static void NoteUse(StackUse& use, const BlockRun& run, Call& call);
  bool StaysInPiece(const BlockRuns& runs) const;
  void Resume(const BlockRun& run);
  void ResumeElsewhere(const BlockRun& run, const Stop& stop);
  void EndHandler(const FunctionPiece& target, const BlockRun& run);
  void Enter(CallEntry entry, const FunctionPiece& target, const AddressSpace* space, uint64_t ip,
             uint64_t resume = 0);
  bool IsOtherProgram(const BlockRun& run, const Stop& stop) const;
  void Transfer(const Leap& leap, uint64_t after);
  void StopAt(const BlockRun& run, uint64_t site, uint64_t after);
  void BeginStop(UntracedGap::Cause cause, uint64_t site, uint64_t expected);
  void CallTo(const Leap& leap, uint64_t after);
  void ReturnTo(const Leap& leap);
  void ReturnOnLoadedStack(const Leap& leap);
  bool LandOn(const Leap& leap);
  bool LandOnPad(const Leap& leap);
  bool LandOnSaved(const Leap& leap);
  void ReturnInner();
  bool IsPlainJump(const Leap& leap);
  void ReturnToUnknown(const Leap& leap);
  void FindCaller(const Leap& leap, const FunctionPiece& target);
  void FarReturnTo(const Leap& leap);
  void JumpTo(const Leap& leap);
  void JumpOnLoadedStack(const Leap& leap);
  void TailCall(const FunctionPiece& target, const Leap& leap);
  void Interrupt(const TraceEvent& event);
  void UnwindToReturn(uint64_t address);
  void UnwindToFunction(uint64_t id);
  void Cut(CallExit how, uint64_t tsc);
  const FunctionPiece& PieceAt(const AddressSpace* space, uint64_t ip);
  std::vector<Call>& calls() { return stacks_.calls(); }

  FunctionFinder& functions_;
  ExecBetween exec_between_;
  CallListener& listener_;
  StackSet stacks_;
  BlockUses uses_;
  Stop stop_;
  const AddressSpace* space_ = nullptr;
  FunctionPiece piece_;  // the last one looked up
  const AddressSpace* piece_space_ = nullptr;
  // Calls looked at for where exceptions land: no more than instructions executed, whatever a trace
  // makes of its returns.
  uint64_t searched_ = 0;
  static constexpr uint8_t kOfItsCall = kLoadsStackPointer | kReadsReturnAddress;
  static constexpr uint64_t kSearchedAhead = uint64_t{1} << 22;
};

void CallStack::Impl::OnBlock(const BlockRun& run, StackUse use) {
  Arrive(run);
  stacks_.now.instructions += run.lengths.size();
  Call& top = calls().back();
  top.self += run.lengths.size();
  NoteUse(use, run, top);
  if (run.exit == BlockExit::kFallThrough || run.exit == BlockExit::kNotTaken) return;
  stacks_.now.bounds = run.BoundsOf(run.lengths.size() - 1);
  const uint64_t site = run.LastAddress();
  const uint64_t after = site + run.lengths.back();
  if (run.exit == BlockExit::kStopped)
    StopAt(run, site, after);
  else
    Transfer({run, site, use.flags}, after);
}

void CallStack::Impl::Arrive(const BlockRun& run) {
  if (run.tsc != 0) stacks_.now.tsc = run.tsc;
  stacks_.now.bounds = run.bounds;
  if (stop_.active) Resume(run);
  space_ = run.space;
  if (calls().empty())
    Enter(CallEntry::kRunning, PieceAt(run.space, run.address), run.space, run.address);
}

// What a block does that is needed when its call ends.
void CallStack::Impl::NoteUse(StackUse& use, const BlockRun& run, Call& call) {
  // Only where a function begins is what the stack pointer points to its return address.
  if (call.entry_ip != run.address) use.flags &= ~kReadsReturnAddress;
  const bool comes_back =
      use.loaded_from != StackUse::kFromMemory && (call.kept_in >> use.loaded_from & 1) != 0;
  if (comes_back) use.flags &= ~kLoadsStackPointer;
  call.stack_use |= use.flags;
  call.kept_in |= use.keeps;
}

// Most blocks only go on in the function that they are in. The last one sets the time of what comes
// next.
void CallStack::Impl::OnBlocks(const BlockBatch& batch) {
  StackUse* const uses = uses_.OfTable(*batch.table);
  for (BlockRuns runs(batch); runs.Next();) {
    StackUse& use = uses[runs.step().number()];
    if (use.flags == BlockUses::kNotLooked) use = BlockUses::Look(*batch.table, runs.block());
    const bool goes_on = !stop_.active && !calls().empty() &&
                         piece_space_ == &batch.table->space() && (use.flags & kOfItsCall) == 0 &&
                         use.keeps == 0;
    if (runs.IsLast() || !goes_on || !StaysInPiece(runs)) {
      OnBlock(runs.run(), use);
    } else {
      space_ = piece_space_;
      stacks_.now.instructions += runs.block().count;
      calls().back().self += runs.block().count;
    }
  }
}

// Whether there is nothing but instructions to count.
bool CallStack::Impl::StaysInPiece(const BlockRuns& runs) const {
  if (!runs.taken()) return true;
  const CodeBlock& block = runs.block();
  const bool jumps = block.last == InstructionClass::kConditional ||
                     block.last == InstructionClass::kJump ||
                     block.last == InstructionClass::kIndirectJump;
  if (!jumps) return false;
  return piece_.Holds(block.LastAddress()) && piece_.Holds(runs.next());
}

void CallStack::Impl::Transfer(const Leap& leap, uint64_t after) {
  switch (leap.run.last) {
    case InstructionClass::kOther:
      return;
    case InstructionClass::kIndirectJump:
      if ((leap.use & kLoadsStackPointer) != 0) return JumpOnLoadedStack(leap);
      return JumpTo(leap);
    case InstructionClass::kConditional:
    case InstructionClass::kJump:
    case InstructionClass::kFarJump:
      return JumpTo(leap);
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
    case InstructionClass::kFarCall:
      return CallTo(leap, after);
    case InstructionClass::kReturn:
      return ReturnTo(leap);
    case InstructionClass::kFarReturn:
      return FarReturnTo(leap);
  }
}

void CallStack::Impl::CallTo(const Leap& leap, uint64_t after) {
  if (leap.target() == after) return;  // reads its own address: no call
  stacks_.Announce();
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  Call call = stacks_.Entered(CallEntry::kCall, leap.target(), leap.run.space);
  call.site = leap.site;
  call.return_address = after;
  call.function = target.id;
  call.is_stub = target.is_stub;
  stacks_.Push(call);
  if (!target.is_stub) stacks_.Announce();
}

void CallStack::Impl::ReturnTo(const Leap& leap) {
  stacks_.Announce();
  const Call& top = calls().back();
  if ((top.stack_use & kLoadsStackPointer) != 0) return ReturnOnLoadedStack(leap);
  if (top.return_address == leap.target()) return ReturnInner();
  if (stacks_.Correct(leap.target())) return;
  if (IsPlainJump(leap)) return JumpTo(leap);
  if (stacks_.HasReturnTo(leap.target())) return UnwindToReturn(leap.target());
  if (LandOn(leap)) return;
  ReturnToUnknown(leap);
}

// To the innermost call's return address.
void CallStack::Impl::ReturnInner() {
  const Call& top = calls().back();
  const bool saves = (top.stack_use & kReadsReturnAddress) != 0;
  const uint64_t address = top.return_address;
  stacks_.Pop(CallExit::kReturn);
  if (saves) stacks_.Save(address);
}

void CallStack::Impl::ReturnOnLoadedStack(const Leap& leap) {
  if (stacks_.LeftAt(leap.target())) {
    stacks_.SwitchTo(leap.target());
    return stacks_.Pop(CallExit::kReturn);
  }
  if (calls().back().return_address == leap.target()) return ReturnInner();
  if (LandOn(leap)) return;
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  if (stacks_.HasFunction(target.id) && leap.target() != target.begin)
    return UnwindToFunction(target.id);
  stacks_.SwitchToNew();
  Enter(CallEntry::kNewStack, target, leap.run.space, leap.target());
}

// At a place that is known on this stack or on another one, where no call of its own returns to.
bool CallStack::Impl::LandOn(const Leap& leap) {
  if (LandOnPad(leap) || LandOnSaved(leap)) return true;
  if (stacks_.HasReturnTo(leap.target())) {
    UnwindToReturn(leap.target());
    return true;
  }
  if (stacks_.LeftAt(leap.target())) {
    stacks_.SwitchTo(leap.target());
    stacks_.Pop(CallExit::kReturn);
    return true;
  }
  if (!stacks_.SwitchInto(leap.target())) return false;
  stacks_.Pop(CallExit::kReturn);
  return true;
}

// Where an exception goes on that passes the innermost calls. The unwinder looks at one after the
// other, and goes to the first that has such a place.
bool CallStack::Impl::LandOnPad(const Leap& leap) {
  const std::vector<Call>& all = calls();
  for (size_t depth = all.size(); depth > 1; --depth) {
    if (++searched_ > kSearchedAhead + stacks_.now.instructions) return false;
    const Call& call = all[depth - 1];
    // What a signal interrupted had not executed yet.
    const uint64_t behind = call.resume != 0 ? call.resume + 1 : call.return_address;
    if (behind == 0 || functions_.LandingPad(call.space, behind) != leap.target()) continue;
    stacks_.PopTo(depth - 1, CallExit::kUnwound);
    return true;
  }
  return false;
}

// Behind a call of setjmp. A runtime of coroutines may switch so, from a function that has just
// called it on this stack to the same one on another.
bool CallStack::Impl::LandOnSaved(const Leap& leap) {
  const size_t depth = stacks_.DepthOfSaved(leap.target());
  const bool own = depth < calls().size();
  const bool just_now = depth + 2 >= calls().size();
  if (own && !just_now) {
    stacks_.PopTo(depth + 1, CallExit::kUnwound);
    return true;
  }
  if (stacks_.SwitchIntoSaved(leap.target())) return true;
  if (!own) return false;
  stacks_.PopTo(depth + 1, CallExit::kUnwound);
  return true;
}

// A return that the code uses as a jump.
bool CallStack::Impl::IsPlainJump(const Leap& leap) {
  if ((leap.use & kReturnWasPushed) != 0) return true;
  if ((leap.use & kReturnWasReplaced) == 0 || calls().size() < 2) return false;
  // A retpoline calls into its own middle, and overwrites where that call would return to.
  stacks_.Pop(CallExit::kReturn);
  return true;
}

void CallStack::Impl::UnwindToReturn(uint64_t address) {
  while (calls().back().return_address != address) stacks_.Pop(CallExit::kUnwound);
  stacks_.Pop(CallExit::kReturn);
}

void CallStack::Impl::UnwindToFunction(uint64_t id) {
  stacks_.PopTo(stacks_.DepthOfFunction(id) + 1, CallExit::kUnwound);
}

void CallStack::Impl::ReturnToUnknown(const Leap& leap) {
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  const Call& from = calls().back();
  const bool knows_caller = from.return_address != 0;
  if (knows_caller && target.is_entry && leap.target() == target.begin) {
    const FunctionPiece own = PieceAt(from.space, from.entry_ip);
    if (calls().size() > 1 && own.id != 0 && own.begin != from.entry_ip &&
        calls()[calls().size() - 2].function == own.id)
      stacks_.Pop(CallExit::kReturn);
    return TailCall(target, leap);
  }
  if (knows_caller && stacks_.HasFunction(target.id)) return UnwindToFunction(target.id);
  FindCaller(leap, target);
}

// The caller was not seen calling: a bottom of the stack, or a handler's return to the code that
// gives control back to the kernel.
void CallStack::Impl::FindCaller(const Leap& leap, const FunctionPiece& target) {
  const Call from = calls().back();
  stacks_.Pop(CallExit::kReturn);
  if (from.return_address == 0 && from.resume == 0 && stacks_.HasFunction(target.id))
    return UnwindToFunction(target.id);
  Enter(CallEntry::kReturnedTo, target, leap.run.space, leap.target(), from.resume);
}

void CallStack::Impl::FarReturnTo(const Leap& leap) {
  stacks_.Announce();
  const size_t handler = stacks_.DepthOfHandler(leap.target());
  if (handler < calls().size()) {
    stacks_.PopTo(handler + 1, CallExit::kUnwound);
    return stacks_.Pop(CallExit::kReturn);
  }
  if (!stacks_.HasReturnTo(leap.target())) return Cut(CallExit::kLost, stacks_.now.tsc);
  UnwindToReturn(leap.target());
}

void CallStack::Impl::JumpTo(const Leap& leap) {
  // Nearly all jumps stay in their function.
  const AddressSpace* space = leap.run.space;
  const uint64_t target = leap.target();
  if (piece_space_ == space && piece_.Holds(leap.site) && piece_.Holds(target)) return;
  const FunctionPiece from = PieceAt(space, leap.site);
  if (from.Holds(target)) return;
  const FunctionPiece to = PieceAt(space, target);
  if (to.id == 0 || to.id == from.id || to.id == calls().back().function) return;
  if (to.is_entry && target == to.begin) return TailCall(to, leap);
  if (!stacks_.HasFunction(to.id)) return;
  stacks_.Announce();
  UnwindToFunction(to.id);
}

// As a return: longjmp, the unwinder of exceptions, or a switch of stacks.
void CallStack::Impl::JumpOnLoadedStack(const Leap& leap) {
  stacks_.Announce();
  const Call& top = calls().back();
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  if (target.Holds(leap.site)) return;
  if (stacks_.LeftAt(leap.target())) {
    stacks_.SwitchTo(leap.target());
    return stacks_.Pop(CallExit::kReturn);
  }
  if (top.return_address == leap.target()) return ReturnInner();
  if (LandOn(leap)) return;
  const bool is_entry = target.is_entry && leap.target() == target.begin;
  // A program's first code jumps to where the program begins.
  const bool outermost = calls().size() == 1 && top.return_address == 0;
  if (is_entry && outermost) return TailCall(target, leap);
  if (!is_entry && stacks_.HasFunction(target.id)) return UnwindToFunction(target.id);
  stacks_.SwitchToNew();
  Enter(CallEntry::kNewStack, target, leap.run.space, leap.target());
}

void CallStack::Impl::TailCall(const FunctionPiece& target, const Leap& leap) {
  const Call from = calls().back();
  if (!stacks_.announced()) {
    stacks_.LeadOn(target.id, leap.target(), leap.run.space, target.is_stub);
    if (!target.is_stub) stacks_.Announce();
    return;
  }
  Call call = stacks_.Entered(CallEntry::kTailCall, leap.target(), leap.run.space);
  call.site = leap.site;
  call.return_address = from.return_address;
  call.resume = from.resume;
  call.function = target.id;
  call.is_stub = target.is_stub;
  stacks_.Pop(CallExit::kTailCall);
  stacks_.Push(call);
  if (!target.is_stub) stacks_.Announce();
}

void CallStack::Impl::BeginStop(UntracedGap::Cause cause, uint64_t site, uint64_t expected) {
  stacks_.Announce();
  stop_ = Stop();
  stop_.active = true;
  stop_.cause = cause;
  stop_.site = site;
  stop_.begin_tsc = stacks_.now.tsc;
  stop_.expected = expected;
  stop_.gap.cause = cause;
  stop_.gap.site = site;
  stop_.gap.begin_tsc = stacks_.now.tsc;
  stop_.gap.begin_bounds = stacks_.now.bounds;
}

void CallStack::Impl::StopAt(const BlockRun& run, uint64_t site, uint64_t after) {
  using Cause = UntracedGap::Cause;
  switch (run.last) {
    case InstructionClass::kFarCall:
      return BeginStop(Cause::kSystemCall, site, after);
    case InstructionClass::kReturn:
    case InstructionClass::kFarReturn:
      BeginStop(Cause::kFilter, site, 0);
      return stacks_.Pop(CallExit::kReturn);
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kFarJump:
      // What it leads to returns for this call.
      BeginStop(Cause::kFilter, site, calls().back().return_address);
      return stacks_.Pop(CallExit::kTailCall);
    default:
      return BeginStop(Cause::kFilter, site, after);
  }
}

void CallStack::Impl::OnEvent(const TraceEvent& event) {
  if (event.tsc != 0) stacks_.now.tsc = event.tsc;
  stacks_.now.bounds = event.bounds;
  switch (event.kind) {
    case EventKind::kStoppedAsync:
      if (!stop_.active) {
        if (!calls().empty()) BeginStop(UntracedGap::Cause::kAsync, event.ip, event.ip);
        return;
      }
      // It had gone on, but not over an instruction.
      listener_.OnGap(stop_.gap, calls().size());
      stop_.gap = UntracedGap();
      stop_.gap.cause = UntracedGap::Cause::kAsync;
      stop_.gap.site = event.ip;
      stop_.gap.begin_tsc = stacks_.now.tsc;
      stop_.gap.begin_bounds = stacks_.now.bounds;
      return;
    case EventKind::kStarted:
      stop_.gap.end_tsc = stacks_.now.tsc;
      stop_.gap.came_back = true;
      return;
    case EventKind::kInterrupted:
      return Interrupt(event);
    case EventKind::kTransactionAbort: {
      const FunctionPiece target = PieceAt(space_, event.target);
      if (event.target == 0 || calls().empty() || !stacks_.HasFunction(target.id)) return;
      stacks_.Announce();
      return UnwindToFunction(target.id);
    }
    default:
      return;
  }
}

void CallStack::Impl::Interrupt(const TraceEvent& event) {
  if (event.target == 0 || calls().empty()) return;
  stacks_.Announce();
  Call call = stacks_.Entered(CallEntry::kHandler, event.target, space_);
  call.resume = event.ip;
  call.function = PieceAt(space_, event.target).id;
  stacks_.Push(call);
  stacks_.Announce();
}

void CallStack::Impl::Resume(const BlockRun& run) {
  const Stop stop = stop_;
  stop_ = Stop();
  listener_.OnGap(stop.gap, calls().size());
  if (calls().empty()) return;
  // The kernel may make a thread execute a system call again.
  const bool again = stop.cause == UntracedGap::Cause::kSystemCall && run.address == stop.site;
  if (IsOtherProgram(run, stop)) return Cut(CallExit::kReplaced, stacks_.now.tsc);
  if (run.address != stop.expected && !again) ResumeElsewhere(run, stop);
}

// Records say so; or where the call of exec was nothing, or something else, is mapped now. The
// latter alone does not do: the new program may map the same library at the same address.
bool CallStack::Impl::IsOtherProgram(const BlockRun& run, const Stop& stop) const {
  if (stop.cause != UntracedGap::Cause::kSystemCall || run.address == stop.expected) return false;
  if (exec_between_ && exec_between_(stop.begin_tsc, stacks_.now.tsc)) return true;
  if (run.space == space_ || run.space == nullptr || space_ == nullptr) return false;
  const CodeMapping* before = space_->Find(stop.site);
  const CodeMapping* now = run.space->Find(stop.site);
  if (before == nullptr) return false;
  return now == nullptr || now->section != before->section || now->FileBase() != before->FileBase();
}

void CallStack::Impl::ResumeElsewhere(const BlockRun& run, const Stop& stop) {
  const FunctionPiece target = PieceAt(run.space, run.address);
  if (stop.cause == UntracedGap::Cause::kSystemCall) {
    const size_t handler = stacks_.DepthOfHandler(run.address);
    if (handler < calls().size()) {
      stacks_.PopTo(handler + 1, CallExit::kUnwound);
      return stacks_.Pop(CallExit::kReturn);
    }
    const Call& top = calls().back();
    if (top.resume != 0 && top.entry == CallEntry::kReturnedTo) return EndHandler(target, run);
  }
  const bool is_entry = target.is_entry && run.address == target.begin;
  if (!is_entry && target.id != 0 && stacks_.HasFunction(target.id))
    return UnwindToFunction(target.id);
  if (stop.cause == UntracedGap::Cause::kFilter)
    Enter(CallEntry::kRunning, target, run.space, run.address);
  else
    Enter(CallEntry::kHandler, target, run.space, run.address, stop.expected);
}

// The code that a handler returned to has given control back, but not to the place where the flow
// had stopped: a system call is made again, the handler chose another place, or the next handler
// runs at once.
void CallStack::Impl::EndHandler(const FunctionPiece& target, const BlockRun& run) {
  const uint64_t resume = calls().back().resume;
  stacks_.Pop(CallExit::kReturn);
  if (target.is_entry && run.address == target.begin)
    return Enter(CallEntry::kHandler, target, run.space, run.address, resume);
  if (target.id != 0 && stacks_.HasFunction(target.id)) UnwindToFunction(target.id);
}

void CallStack::Impl::Enter(CallEntry entry, const FunctionPiece& target, const AddressSpace* space,
                            uint64_t ip, uint64_t resume) {
  Call call = stacks_.Entered(entry, ip, space);
  call.function = target.id;
  call.resume = resume;
  stacks_.Push(call);
  stacks_.Announce();
}

void CallStack::Impl::OnLoss(const DataLoss& loss) {
  if (stop_.active) listener_.OnGap(stop_.gap, calls().size());
  stop_ = Stop();
  // Not before the last instruction that was seen; after it nothing is known.
  stacks_.now.bounds.hi = 0;
  Cut(CallExit::kLost, std::max(loss.tsc, stacks_.now.tsc));
}

void CallStack::Impl::Finish() {
  if (stop_.active) listener_.OnGap(stop_.gap, calls().size());
  Cut(CallExit::kEnd, stacks_.now.tsc);
  stop_ = Stop();
  searched_ = 0;
  space_ = nullptr;
  piece_ = {};
  piece_space_ = nullptr;
  stacks_.Clear();
}

void CallStack::Impl::Cut(CallExit how, uint64_t tsc) {
  if (tsc != 0) stacks_.now.tsc = tsc;
  stacks_.Cut(how);
}

const FunctionPiece& CallStack::Impl::PieceAt(const AddressSpace* space, uint64_t ip) {
  if (piece_space_ == space && piece_.Holds(ip)) return piece_;
  piece_ = functions_.Find(space, ip);
  piece_space_ = space;
  return piece_;
}

CallStack::CallStack(FunctionFinder& functions, CallListener& listener)
    : impl_(std::make_unique<Impl>(functions, listener)) {}
CallStack::CallStack(CallStack&&) noexcept = default;
CallStack& CallStack::operator=(CallStack&&) noexcept = default;
CallStack::~CallStack() = default;

void CallStack::LookForExec(ExecBetween exec_between) {
  impl_->LookForExec(std::move(exec_between));
}
void CallStack::OnBlock(const BlockRun& run) { impl_->OnBlock(run); }
void CallStack::OnBlocks(const BlockBatch& batch) { impl_->OnBlocks(batch); }
void CallStack::Arrive(const BlockRun& run) { impl_->Arrive(run); }
void CallStack::OnEvent(const TraceEvent& event) { impl_->OnEvent(event); }
void CallStack::OnLoss(const DataLoss& loss) { impl_->OnLoss(loss); }
void CallStack::Finish() { impl_->Finish(); }
const std::vector<Call>& CallStack::calls() const { return impl_->stacks().calls(); }
uint32_t CallStack::stack() const { return impl_->stacks().number(); }
uint64_t CallStack::instructions() const { return impl_->stacks().now.instructions; }
StackGuess CallStack::guess() const { return impl_->stacks().guess(); }
uint64_t CallStack::stopped_at() const { return impl_->stopped_at(); }

}  // namespace flowback
