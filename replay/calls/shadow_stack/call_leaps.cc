// SPDX-License-Identifier: MIT
// Where calls, returns and jumps lead to.
#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/call_flow.h"
#include "replay/calls/unwind/behind_call.h"

namespace flowback {
void CallStack::Impl::Transfer(const Leap& leap, uint64_t after) {
  switch (leap.run.last) {
    case InstructionClass::kOther:
      return;
    case InstructionClass::kIndirectJump:
      if ((leap.use & kLoadsStackPointer) != 0 || BeginsOnLoadedStack(leap))
        return JumpOnLoadedStack(leap);
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

// AArch64's setcontext loads all registers behind the stack pointer before it jumps, with tests
// between. Where it jumps to is a function's begin, or a place in swapcontext that then returns.
bool CallStack::Impl::BeginsOnLoadedStack(const Leap& leap) {
  if (leap.run.mode != CodeMode::kAArch64) return false;
  if ((calls().back().stack_use & kLoadsStackPointer) == 0) return false;
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  return target.is_entry && target.begin == leap.target();
}

void CallStack::Impl::CallTo(const Leap& leap, uint64_t after) {
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  // Reads its own address, which is no call, unless the next function begins there: a call that
  // never returns may be a function's last instruction, such as __stack_chk_fail's.
  const bool is_function = target.is_entry && target.begin == after;
  if (leap.target() == after && !is_function) return;
  stacks_.Announce();
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
  if (stacks_.HasGuess()) stacks_.Confirm(calls().back().return_address);
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
  if (calls().back().return_address == leap.target() && !IsSaved(leap)) return ReturnInner();
  if (LandOn(leap)) return;
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  GoToUnknown(leap, target);
}

// An exception that goes on in a call which was not seen, further out than all that were; or in a
// function that is on this stack; else there is another stack.
void CallStack::Impl::GoToUnknown(const Leap& leap, const FunctionPiece& target) {
  const bool has_unseen = stacks_.number() == 0 && calls().front().return_address == 0;
  if (has_unseen && functions_.IsLandingPad(leap.run.space, leap.target())) {
    stacks_.PopTo(0, CallExit::kUnwound);
    return Enter(CallEntry::kReturnedTo, target, leap.run.space, leap.target());
  }
  if (LandInActive(leap, target)) return;
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

// Behind a call of setjmp, or at another place that a call has saved. A runtime of coroutines may
// switch so, from a function that has just saved its place on this stack to the same one on
// another.
bool CallStack::Impl::LandOnSaved(const Leap& leap) {
  const size_t found = FindSaved(leap);
  const bool own = found < stacks_.saved().all().size();
  const SavedPlace place = own ? stacks_.saved().all()[found] : SavedPlace();
  const bool just_now = own && WasSavedJustNow(place);
  if (!own || just_now)
    if (stacks_.SwitchIntoSaved(leap.target())) return true;
  const bool leaps_itself = place.depth + 1 == calls().size();
  if (!own || (just_now && leaps_itself && stacks_.has_unseen)) return false;
  stacks_.saved().SetUsed(found);
  stacks_.PopTo(place.depth + 1, CallExit::kUnwound);
  return true;
}

// Whether the call that leaps saved the place right before, or the call that it returns to did.
bool CallStack::Impl::WasSavedJustNow(const SavedPlace& place) {
  return place.depth + 2 >= calls().size() && calls()[place.depth].self - place.self <= kFewSince;
}

// Within one function the flow stays in its call, unless another call or another stack has saved
// the place. A call that goes where it has just saved its own place switches to a stack that was
// not seen.
void CallStack::Impl::LeapWithinFunction(const Leap& leap, const FunctionPiece& target) {
  if (LandOnSaved(leap)) return;
  const size_t found = FindSaved(leap);
  if (found == stacks_.saved().all().size()) return;
  stacks_.SwitchToNew();
  Enter(CallEntry::kNewStack, target, leap.run.space, leap.target());
}

// Returns the index of the place on this stack that the leap goes to, as SavedPlaces::Find.
size_t CallStack::Impl::FindSaved(const Leap& leap) {
  return stacks_.saved().Find(leap.target(), calls().size() - 1, [&](const SavedPlace& place) {
    return ++searched_ <= kSearchedAhead + stacks_.now.instructions && IsStillThere(place, leap);
  });
}

bool CallStack::Impl::IsSaved(const Leap& leap) {
  return FindSaved(leap) < stacks_.saved().all().size();
}

// A place that was pushed is gone when its function has popped it: then the frame is no larger than
// it is at the place itself, where the leap has popped it as well.
bool CallStack::Impl::IsStillThere(const SavedPlace& place, const Leap& leap) {
  if (!place.pushed) return true;
  const bool is_top = place.depth + 1 == calls().size();
  const Call* callee = is_top ? nullptr : &calls()[place.depth + 1];
  const bool interrupted = callee != nullptr && callee->resume != 0;
  const uint64_t now = is_top        ? leap.site
                       : interrupted ? callee->resume
                                     : callee->return_address - 1;
  const AddressSpace* space = calls()[place.depth].space;
  const auto size = functions_.FrameSize(space, now);
  const auto size_there = functions_.FrameSize(space, place.address);
  return !size || !size_there || *size > *size_there;
}

// Into the middle of a function that is on this stack. A fibre that was left in the same function
// before it was seen goes on behind a call, too, and code that switches to it keeps the stack
// pointer of the stack that it leaves.
bool CallStack::Impl::LandInActive(const Leap& leap, const FunctionPiece& target) {
  const bool is_entry = target.is_entry && leap.target() == target.begin;
  if (target.id == 0 || is_entry || !stacks_.HasFunction(target.id)) return false;
  if ((calls().back().stack_use & kKeepsStackPointer) != 0) return false;
  const bool behind_call =
      leap.run.space == nullptr || IsBehindCall(*leap.run.space, leap.target(), leap.run.mode);
  if (stacks_.has_unseen && behind_call) return false;
  UnwindToFunction(target.id);
  return true;
}

// A return that the code uses as a jump.
bool CallStack::Impl::IsPlainJump(const Leap& leap) {
  if ((leap.use & kReturnWasPushed) != 0) {
    // Or vfork's, which takes its return address off the stack for a while.
    const FunctionPiece target = PieceAt(leap.run.space, leap.target());
    return calls().back().return_address != 0 || target.begin == leap.target();
  }
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

// To the call of the function that has saved the place, or to the innermost one.
void CallStack::Impl::UnwindInto(const FunctionPiece& target, const Leap& leap) {
  const size_t found = FindSaved(leap);
  if (found == stacks_.saved().all().size()) return UnwindToFunction(target.id);
  stacks_.saved().SetUsed(found);
  stacks_.PopTo(stacks_.saved().all()[found].depth + 1, CallExit::kUnwound);
}

void CallStack::Impl::ReturnToUnknown(const Leap& leap) {
  if (FindInherited(leap.target())) return;
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
  if (knows_caller && stacks_.HasFunction(target.id)) return UnwindInto(target, leap);
  if (!knows_caller) return FindCaller(leap, target);
  // It is on another stack, in a way that was not seen.
  stacks_.SwitchToNew();
  Enter(CallEntry::kReturnedTo, target, leap.run.space, leap.target());
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

// Whether a child of fork goes back to where its parent had called from.
bool CallStack::Impl::FindInherited(uint64_t address) {
  const bool outermost = calls().size() == 1 && calls().back().return_address == 0;
  if (!outermost || stacks_.number() != 0 || inherited_.empty() ||
      inherited_.back().return_address != address)
    return false;
  inherited_.pop_back();
  stacks_.Pop(CallExit::kReturn);
  listener_.OnInherited(inherited_, address);
  for (Call& call : inherited_) {
    call.entry = CallEntry::kRunning;
    stacks_.EnterAgain(call);
  }
  inherited_.clear();
  return true;
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
  UnwindInto(to, leap);
}

// As a return: longjmp, the unwinder of exceptions, or a switch of stacks.
void CallStack::Impl::JumpOnLoadedStack(const Leap& leap) {
  stacks_.Announce();
  const Call& top = calls().back();
  const FunctionPiece target = PieceAt(leap.run.space, leap.target());
  if (target.Holds(leap.site)) return LeapWithinFunction(leap, target);
  if (stacks_.LeftAt(leap.target())) {
    stacks_.SwitchTo(leap.target());
    return stacks_.Pop(CallExit::kReturn);
  }
  // A place that is saved may follow the call of a function that never returns.
  if (top.return_address == leap.target() && !IsSaved(leap)) return ReturnInner();
  if (LandOn(leap)) return;
  const bool is_entry = target.is_entry && leap.target() == target.begin;
  // A program's first code jumps to where the program begins.
  const bool outermost = calls().size() == 1 && top.return_address == 0;
  if (is_entry && outermost) return TailCall(target, leap);
  GoToUnknown(leap, target);
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
  call.stack_use = from.stack_use & kReadsReturnAddress;  // which is this one's, too
  stacks_.Pop(CallExit::kTailCall);
  stacks_.Push(call);
  if (!target.is_stub) stacks_.Announce();
}

}  // namespace flowback
