// SPDX-License-Identifier: MIT
// The model keeps what a shadow stack would: for each call its return address. A return to the
// innermost return address is the normal case and costs one comparison. Everything else is told
// apart by what the trace and the symbols prove:
//
// * A return to the return address of a call further out, or into a function that is on the stack:
//   what lies above was unwound (an exception's landing pad is such a place, and longjmp jumps to
//   one). The same for a jump into the middle of a function on the stack.
// * A jump to another function's entry is a tail call: it inherits the return address. The stub of
//   a procedure linkage table does nothing but that, so stub and function are told as one call.
// * A return to a function's entry is a jump in disguise (a retpoline, a coroutine's first switch).
// * A return from the outermost call goes to a caller that was not known yet.
// * Where user code alone is traced the kernel is a gap in the flow. It goes on where it stopped,
// or
//   the kernel has put a handler on the stack, which ends when the flow goes on at that place after
//   all. Or exec has replaced the program: then the old code is not mapped any more.
// * After a loss nothing is known: the stack starts anew, with its callers found as they return.
#include "replay/calls/call_stack.h"

#include <algorithm>

namespace flowback {
namespace {

// Deeper stacks than the kernel's default limit of 8 MiB can hold come from flows that switch
// stacks without returning; they are cut, so that memory stays bounded.
constexpr size_t kMaxDepth = size_t{1} << 19;

void Count(std::unordered_map<uint64_t, uint32_t>& counts, uint64_t key) {
  if (key != 0) ++counts[key];
}

void Uncount(std::unordered_map<uint64_t, uint32_t>& counts, uint64_t key) {
  if (key == 0) return;
  const auto count = counts.find(key);
  if (--count->second == 0) counts.erase(count);
}

}  // namespace

void CallStack::OnBlock(const BlockRun& run) {
  if (run.tsc != 0) tsc_ = run.tsc;
  bounds_ = run.bounds;
  if (stop_.active) Resume(run);
  space_ = run.space;
  if (calls_.empty()) {
    const FunctionPiece piece = PieceAt(run.space, run.address);
    Enter(CallEntry::kRunning, piece, run, 0);
  }
  instructions_ += run.lengths.size();
  calls_.back().self += run.lengths.size();
  if (run.exit == BlockExit::kFallThrough || run.exit == BlockExit::kNotTaken) return;
  bounds_ = run.BoundsOf(run.lengths.size() - 1);
  const uint64_t site = run.LastAddress();
  const uint64_t after = site + run.lengths.back();
  if (run.exit == BlockExit::kStopped)
    StopAt(run, site, after);
  else
    Transfer(run, site, after);
}

// Most blocks only go on in the function that they are in. The last one sets the time of what comes
// next.
void CallStack::OnBlocks(const BlockBatch& batch) {
  for (BlockRuns runs(batch); runs.Next();) {
    const bool goes_on = !stop_.active && !calls_.empty() && piece_space_ == &batch.table->space();
    if (runs.IsLast() || !goes_on || !StaysInPiece(runs)) {
      OnBlock(runs.run());
    } else {
      space_ = piece_space_;
      instructions_ += runs.block().count;
      calls_.back().self += runs.block().count;
    }
  }
}

// Whether there is nothing but instructions to count.
bool CallStack::StaysInPiece(const BlockRuns& runs) const {
  if (!runs.taken()) return true;
  const CodeBlock& block = runs.block();
  const bool jumps = block.last == InstructionClass::kConditional ||
                     block.last == InstructionClass::kJump ||
                     block.last == InstructionClass::kIndirectJump;
  if (!jumps) return false;
  const uint64_t site = block.address + block.size - block.lengths[block.count - 1];
  return piece_.Holds(site) && piece_.Holds(runs.next());
}

void CallStack::Transfer(const BlockRun& run, uint64_t site, uint64_t after) {
  switch (run.last) {
    case InstructionClass::kOther:
      return;
    case InstructionClass::kConditional:
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
      return JumpTo(run.next, run, site);
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
    case InstructionClass::kFarCall:
      return CallTo(run, site, after);
    case InstructionClass::kReturn:
      return ReturnTo(run, site);
    case InstructionClass::kFarReturn:
      return FarReturnTo(run);
    case InstructionClass::kFarJump:
      return JumpTo(run.next, run, site);
  }
}

void CallStack::CallTo(const BlockRun& run, uint64_t site, uint64_t after) {
  if (run.next == after) return;  // reads its own address: no call
  Announce();
  const FunctionPiece target = PieceAt(run.space, run.next);
  Call call = Entered(CallEntry::kCall, run.next, run.space);
  call.site = site;
  call.return_address = after;
  call.function = target.id;
  call.is_stub = target.is_stub;
  Push(call);
  if (!target.is_stub) Announce();
}

void CallStack::ReturnTo(const BlockRun& run, uint64_t site) {
  Announce();
  if (calls_.back().return_address == run.next) return Pop(CallExit::kReturn);
  if (!return_addresses_.contains(run.next)) return ReturnToUnknown(run, site);
  while (calls_.back().return_address != run.next) Pop(CallExit::kUnwound);
  Pop(CallExit::kReturn);
}

void CallStack::ReturnToUnknown(const BlockRun& run, uint64_t site) {
  const FunctionPiece target = PieceAt(run.space, run.next);
  const Call from = calls_.back();
  const bool knows_caller = from.return_address != 0;
  if (knows_caller && target.is_entry && run.next == target.begin) {
    // A retpoline calls into its own middle to push the target.
    const FunctionPiece own = PieceAt(from.space, from.entry_ip);
    if (calls_.size() > 1 && own.id != 0 && own.begin != from.entry_ip &&
        calls_[calls_.size() - 2].function == own.id)
      Pop(CallExit::kReturn);
    return TailCall(target, run, site);
  }
  if (knows_caller && on_stack_.contains(target.id))
    return PopTo(DepthOfFunction(target.id) + 1, CallExit::kUnwound);
  // The caller was not seen calling: a bottom of the stack, or a handler's return to the code that
  // gives control back to the kernel.
  Pop(CallExit::kReturn);
  if (!knows_caller && from.resume == 0 && on_stack_.contains(target.id))
    return PopTo(DepthOfFunction(target.id) + 1, CallExit::kUnwound);
  Call caller = Entered(CallEntry::kReturnedTo, run.next, run.space);
  caller.function = target.id;
  caller.resume = from.resume;
  Push(caller);
  Announce();
}

void CallStack::FarReturnTo(const BlockRun& run) {
  Announce();
  const size_t handler = DepthOfHandler(run.next);
  if (handler < calls_.size()) {
    PopTo(handler + 1, CallExit::kUnwound);
    return Pop(CallExit::kReturn);
  }
  if (!return_addresses_.contains(run.next)) return Cut(CallExit::kLost, tsc_);
  while (calls_.back().return_address != run.next) Pop(CallExit::kUnwound);
  Pop(CallExit::kReturn);
}

void CallStack::JumpTo(uint64_t target, const BlockRun& run, uint64_t site) {
  // Nearly all jumps stay in their function.
  if (piece_space_ == run.space && piece_.Holds(site) && piece_.Holds(target)) return;
  const FunctionPiece from = PieceAt(run.space, site);
  if (from.Holds(target)) return;
  const FunctionPiece to = PieceAt(run.space, target);
  if (to.id == 0 || to.id == from.id || to.id == calls_.back().function) return;
  if (to.is_entry && target == to.begin) return TailCall(to, run, site);
  if (!on_stack_.contains(to.id)) return;
  Announce();
  PopTo(DepthOfFunction(to.id) + 1, CallExit::kUnwound);
}

void CallStack::TailCall(const FunctionPiece& target, const BlockRun& run, uint64_t site) {
  Call& from = calls_.back();
  if (!announced_) {
    Uncount(on_stack_, from.function);
    Count(on_stack_, target.id);
    from.function = target.id;
    from.entry_ip = run.next;
    from.space = run.space;
    from.via_stub = true;
    from.is_stub = target.is_stub;
    if (!target.is_stub) Announce();
    return;
  }
  Call call = Entered(CallEntry::kTailCall, run.next, run.space);
  call.site = site;
  call.return_address = from.return_address;
  call.resume = from.resume;
  call.function = target.id;
  call.is_stub = target.is_stub;
  Pop(CallExit::kTailCall);
  Push(call);
  if (!target.is_stub) Announce();
}

void CallStack::BeginStop(UntracedGap::Cause cause, uint64_t site, uint64_t expected) {
  Announce();
  stop_ = Stop();
  stop_.active = true;
  stop_.cause = cause;
  stop_.site = site;
  stop_.begin_tsc = tsc_;
  stop_.expected = expected;
  stop_.gap.cause = cause;
  stop_.gap.site = site;
  stop_.gap.begin_tsc = tsc_;
  stop_.gap.begin_bounds = bounds_;
}

void CallStack::StopAt(const BlockRun& run, uint64_t site, uint64_t after) {
  using Cause = UntracedGap::Cause;
  switch (run.last) {
    case InstructionClass::kFarCall:
      return BeginStop(Cause::kSystemCall, site, after);
    case InstructionClass::kReturn:
    case InstructionClass::kFarReturn:
      BeginStop(Cause::kFilter, site, 0);
      return Pop(CallExit::kReturn);
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kFarJump:
      // What it leads to returns for this call.
      BeginStop(Cause::kFilter, site, calls_.back().return_address);
      return Pop(CallExit::kTailCall);
    default:
      return BeginStop(Cause::kFilter, site, after);
  }
}

void CallStack::OnEvent(const TraceEvent& event) {
  if (event.tsc != 0) tsc_ = event.tsc;
  bounds_ = event.bounds;
  switch (event.kind) {
    case EventKind::kStoppedAsync:
      if (!stop_.active) {
        if (!calls_.empty()) BeginStop(UntracedGap::Cause::kAsync, event.ip, event.ip);
        return;
      }
      // It had gone on, but not over an instruction.
      listener_.OnGap(stop_.gap, calls_.size());
      stop_.gap = UntracedGap();
      stop_.gap.cause = UntracedGap::Cause::kAsync;
      stop_.gap.site = event.ip;
      stop_.gap.begin_tsc = tsc_;
      stop_.gap.begin_bounds = bounds_;
      return;
    case EventKind::kStarted:
      stop_.gap.end_tsc = tsc_;
      stop_.gap.came_back = true;
      return;
    case EventKind::kInterrupted:
      return Interrupt(event);
    case EventKind::kTransactionAbort: {
      const FunctionPiece target = PieceAt(space_, event.target);
      if (event.target == 0 || calls_.empty() || !on_stack_.contains(target.id)) return;
      Announce();
      return PopTo(DepthOfFunction(target.id) + 1, CallExit::kUnwound);
    }
    default:
      return;
  }
}

void CallStack::Interrupt(const TraceEvent& event) {
  if (event.target == 0 || calls_.empty()) return;
  Announce();
  Call call = Entered(CallEntry::kHandler, event.target, space_);
  call.resume = event.ip;
  call.function = PieceAt(space_, event.target).id;
  Push(call);
  Announce();
}

void CallStack::Resume(const BlockRun& run) {
  const Stop stop = stop_;
  stop_ = Stop();
  listener_.OnGap(stop.gap, calls_.size());
  if (calls_.empty()) return;
  // The kernel may make a thread execute a system call again.
  const bool again = stop.cause == UntracedGap::Cause::kSystemCall && run.address == stop.site;
  if (IsOtherProgram(run, stop)) return Cut(CallExit::kReplaced, tsc_);
  if (run.address != stop.expected && !again) ResumeElsewhere(run, stop);
}

// Records say so; or where the call of exec was nothing, or something else, is mapped now. The
// latter alone does not do: the new program may map the same library at the same address.
bool CallStack::IsOtherProgram(const BlockRun& run, const Stop& stop) const {
  if (stop.cause != UntracedGap::Cause::kSystemCall || run.address == stop.expected) return false;
  if (exec_between_ && exec_between_(stop.begin_tsc, tsc_)) return true;
  if (run.space == space_ || run.space == nullptr || space_ == nullptr) return false;
  const CodeMapping* before = space_->Find(stop.site);
  const CodeMapping* now = run.space->Find(stop.site);
  if (before == nullptr) return false;
  return now == nullptr || now->section != before->section || now->FileBase() != before->FileBase();
}

void CallStack::ResumeElsewhere(const BlockRun& run, const Stop& stop) {
  const FunctionPiece target = PieceAt(run.space, run.address);
  if (stop.cause == UntracedGap::Cause::kSystemCall) {
    const size_t handler = DepthOfHandler(run.address);
    if (handler < calls_.size()) {
      PopTo(handler + 1, CallExit::kUnwound);
      return Pop(CallExit::kReturn);
    }
    const Call& top = calls_.back();
    if (top.resume != 0 && top.entry == CallEntry::kReturnedTo) return EndHandler(target, run);
  }
  const bool is_entry = target.is_entry && run.address == target.begin;
  if (!is_entry && target.id != 0 && on_stack_.contains(target.id))
    return PopTo(DepthOfFunction(target.id) + 1, CallExit::kUnwound);
  if (stop.cause == UntracedGap::Cause::kFilter)
    Enter(CallEntry::kRunning, target, run, 0);
  else
    Enter(CallEntry::kHandler, target, run, stop.expected);
}

// The code that a handler returned to has given control back, but not to the place where the flow
// had stopped: a system call is made again, the handler chose another place, or the next handler
// runs at once.
void CallStack::EndHandler(const FunctionPiece& target, const BlockRun& run) {
  const uint64_t resume = calls_.back().resume;
  Pop(CallExit::kReturn);
  if (target.is_entry && run.address == target.begin)
    return Enter(CallEntry::kHandler, target, run, resume);
  if (target.id != 0 && on_stack_.contains(target.id))
    PopTo(DepthOfFunction(target.id) + 1, CallExit::kUnwound);
}

void CallStack::Enter(CallEntry entry, const FunctionPiece& target, const BlockRun& run,
                      uint64_t resume) {
  Call call = Entered(entry, run.address, run.space);
  call.function = target.id;
  call.resume = resume;
  Push(call);
  Announce();
}

void CallStack::OnLoss(const DataLoss& loss) {
  if (stop_.active) listener_.OnGap(stop_.gap, calls_.size());
  stop_ = Stop();
  // Not before the last instruction that was seen; after it nothing is known.
  bounds_.hi = 0;
  Cut(CallExit::kLost, std::max(loss.tsc, tsc_));
}

void CallStack::Finish() {
  if (stop_.active) listener_.OnGap(stop_.gap, calls_.size());
  Cut(CallExit::kEnd, tsc_);
  stop_ = Stop();
  space_ = nullptr;
  piece_ = {};
  piece_space_ = nullptr;
  instructions_ = 0;
  tsc_ = 0;
  bounds_ = {};
}

void CallStack::Cut(CallExit how, uint64_t tsc) {
  if (tsc != 0) tsc_ = tsc;
  if (calls_.empty()) return;
  Announce();
  PopTo(0, how);
}

Call CallStack::Entered(CallEntry entry, uint64_t ip, const AddressSpace* space) const {
  Call call;
  call.entry = entry;
  call.entry_ip = ip;
  call.space = space;
  call.tsc = tsc_;
  call.bounds = bounds_;
  call.instructions_before = instructions_;
  return call;
}

void CallStack::Push(const Call& call) {
  if (calls_.size() >= kMaxDepth) Cut(CallExit::kLost, tsc_);
  Count(return_addresses_, call.return_address);
  Count(on_stack_, call.function);
  calls_.push_back(call);
  announced_ = false;
}

void CallStack::Announce() {
  if (announced_ || calls_.empty()) return;
  announced_ = true;
  listener_.OnEnter(calls_.back(), calls_.size() - 1);
}

void CallStack::Pop(CallExit how) {
  const Call call = calls_.back();
  Uncount(return_addresses_, call.return_address);
  Uncount(on_stack_, call.function);
  calls_.pop_back();
  listener_.OnExit(call, calls_.size(), how, instructions_ - call.instructions_before,
                   {tsc_, bounds_});
}

void CallStack::PopTo(size_t depth, CallExit how) {
  while (calls_.size() > depth) Pop(how);
}

size_t CallStack::DepthOfFunction(uint64_t id) const {
  size_t depth = calls_.size();
  while (depth > 0 && calls_[depth - 1].function != id) --depth;
  return depth == 0 ? calls_.size() : depth - 1;
}

size_t CallStack::DepthOfHandler(uint64_t resume) const {
  size_t depth = calls_.size();
  while (depth > 0 && (calls_[depth - 1].resume == 0 || calls_[depth - 1].resume != resume))
    --depth;
  return depth == 0 ? calls_.size() : depth - 1;
}

const FunctionPiece& CallStack::PieceAt(const AddressSpace* space, uint64_t ip) {
  if (piece_space_ == space && piece_.Holds(ip)) return piece_;
  piece_ = functions_.Find(space, ip);
  piece_space_ = space;
  return piece_;
}

}  // namespace flowback
