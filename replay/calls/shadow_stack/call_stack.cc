// SPDX-License-Identifier: MIT
// The flow's blocks, its events, and what lies between them.
#include "flowback/replay/call_stack.h"

#include <algorithm>
#include <utility>

#include "decode/system_call.h"
#include "replay/calls/shadow_stack/call_flow.h"
#include "replay/calls/shadow_stack/call_stack_archive.h"

namespace flowback {

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
  // Only where a function begins is what the stack pointer points to its return address. On AArch64
  // that stays in its register up to the first call.
  const bool has_not_called = run.mode == CodeMode::kAArch64 &&
                              stacks_.now.instructions - call.instructions_before == call.self;
  if (call.entry_ip != run.address && !has_not_called) use.flags &= ~kReadsReturnAddress;
  const bool comes_back =
      use.loaded_from != StackUse::kFromMemory && (call.kept_in >> use.loaded_from & 1) != 0;
  if (comes_back) use.flags &= ~kLoadsStackPointer;
  call.stack_use |= use.flags;
  call.kept_in |= use.keeps;
  if ((use.flags & kTakesAddresses) != 0) SavePlaces(run);
}

// An exception or __builtin_longjmp may go on at places in the function whose addresses its own
// code takes.
void CallStack::Impl::SavePlaces(const BlockRun& run) {
  for (const TakenPlace& place : uses_.PlacesOf(run))
    if (IsSavedBy(run, place.address)) stacks_.Save(place.address, place.pushed);
}

// Whether the address lies within the function that the run is in. In code that no symbol or table
// divides into functions, any place in the same file counts.
bool CallStack::Impl::IsSavedBy(const BlockRun& run, uint64_t address) {
  const FunctionPiece own = functions_.Find(run.space, run.address);
  if (own.Holds(address)) return address != own.begin || !own.is_entry;
  const FunctionPiece other = functions_.Find(run.space, address);
  if (own.id != 0 || other.id != 0) return own.id == other.id && !other.is_entry;
  const CodeMapping* mapping = run.space == nullptr ? nullptr : run.space->Find(run.address);
  return mapping != nullptr && mapping == run.space->Find(address);
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
  stop_.gap.space = space_;
}

void CallStack::Impl::StopAt(const BlockRun& run, uint64_t site, uint64_t after) {
  using Cause = UntracedGap::Cause;
  switch (run.last) {
    case InstructionClass::kFarCall:
      BeginStop(Cause::kSystemCall, site, after);
      if (listener_.WantsCallNumbers()) NoteCallNumber(run);
      return;
    case InstructionClass::kReturn:
    case InstructionClass::kFarReturn:
      BeginStop(Cause::kFilter, site, 0);
      return stacks_.Pop(CallExit::kReturn);
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kFarJump:
      // Its target returns for this call.
      BeginStop(Cause::kFilter, site, calls().back().return_address);
      return stacks_.Pop(CallExit::kTailCall);
    default:
      return BeginStop(Cause::kFilter, site, after);
  }
}

void CallStack::Impl::NoteCallNumber(const BlockRun& run) {
  const std::optional<SystemCall> call = SystemCallOf(run);
  if (!call) return;
  stop_.gap.call_number = call->number;
  stop_.gap.call_abi = call->abi;
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
      stop_.gap.space = space_;
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
  if (IsPause(run, stop)) return Pause(stop);
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

void CallStack::Impl::LookForPauses(const MachineInfo& machine) {
  for (const auto& [places, offsets] :
       {std::pair(&machine.from, &goes_on_in_), std::pair(&machine.until, &stops_in_)}) {
    offsets->clear();
    for (const WatchPlace& place : *places)
      if (!place.file.empty()) offsets->push_back(place.offset);
  }
}

// The files are not compared: they may have been found at other paths.
bool CallStack::Impl::IsPause(const BlockRun& run, const Stop& stop) const {
  if (goes_on_in_.empty() || stops_in_.empty()) return false;
  const auto is_one_of = [](const std::vector<uint64_t>& offsets, const AddressSpace* space,
                            uint64_t address) {
    const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
    return mapping != nullptr &&
           std::ranges::find(offsets, address - mapping->FileBase()) != offsets.end();
  };
  return is_one_of(stops_in_, stop.gap.space, stop.gap.site) &&
         is_one_of(goes_on_in_, run.space, run.address);
}

// The calls end when the recorder stopped. What comes next begins now.
void CallStack::Impl::Pause(const Stop& stop) {
  const StackSet::Moment now = stacks_.now;
  stacks_.now.tsc = stop.begin_tsc;
  stacks_.now.bounds = stop.gap.begin_bounds;
  stacks_.Cut(CallExit::kPaused);
  stacks_.has_unseen = true;
  stacks_.now = now;
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

// The innermost call is where the recursion came for the first time to the place of its end.
void CallStack::Impl::NoteRepeats() {
  if (!calls().empty()) stacks_.calls().back().repeats = true;
}

void CallStack::Impl::OnLoss(const DataLoss& loss) {
  if (loss.cause == LossCause::kDepthUnknown) NoteRepeats();
  if (KeepsPlace(loss.cause)) return;
  inherited_.clear();
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
  inherited_.clear();
  space_ = nullptr;
  piece_ = {};
  piece_space_ = nullptr;
  stacks_.Clear();
}

void CallStack::Impl::Cut(CallExit how, uint64_t tsc) {
  if (tsc != 0) stacks_.now.tsc = tsc;
  stacks_.Cut(how);
  stacks_.has_unseen = how != CallExit::kReplaced;
}

const FunctionPiece& CallStack::Impl::PieceAt(const AddressSpace* space, uint64_t ip) {
  if (piece_space_ == space && piece_.Holds(ip)) return piece_;
  piece_ = functions_.Find(space, ip);
  piece_ip_ = ip;
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
void CallStack::LookForPauses(const MachineInfo& machine) { impl_->LookForPauses(machine); }
void CallStack::Inherit(std::vector<Call> calls) { impl_->Inherit(std::move(calls)); }
void CallStack::BeginsWithThread() { impl_->BeginsWithThread(); }
void CallStack::OnBlock(const BlockRun& run) { impl_->OnBlock(run); }
void CallStack::OnBlocks(const BlockBatch& batch) { impl_->OnBlocks(batch); }
void CallStack::Arrive(const BlockRun& run) { impl_->Arrive(run); }
void CallStack::OnEvent(const TraceEvent& event) { impl_->OnEvent(event); }
void CallStack::OnLoss(const DataLoss& loss) { impl_->OnLoss(loss); }
void CallStack::Finish() { impl_->Finish(); }
const std::vector<Call>& CallStack::calls() const { return impl_->stacks().calls(); }
uint32_t CallStack::stack() const { return impl_->stacks().number(); }
uint64_t CallStack::instructions() const { return impl_->stacks().now.instructions; }
std::vector<StackGuess> CallStack::guesses() const { return impl_->stacks().guesses(); }
uint64_t CallStack::stopped_at() const { return impl_->stopped_at(); }
uint64_t CallStack::guess_count() const { return impl_->stacks().guess_count(); }
std::vector<uint8_t> CallStackArchive::ToBytes(const CallStack& stack, const SpaceNames& spaces) {
  return stack.impl_->ToBytes(spaces);
}
bool CallStackArchive::FromBytes(CallStack& stack, Bytes bytes, const SpaceNames& spaces) {
  return stack.impl_->FromBytes(bytes, spaces);
}

}  // namespace flowback
