// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_stack.h"

#include <algorithm>
#include <utility>

#include "base/number_bytes.h"
#include "replay/calls/shadow_stack/call_stack_archive.h"
#include "replay/calls/stack_snapshots.h"

namespace flowback {
namespace {

using Outside = ThreadStack::Outside;

// Returns the frames of calls, the outermost first; `next` is the address that executes next.
std::vector<StackFrame> FramesOf(const std::vector<Call>& calls, uint64_t next) {
  std::vector<StackFrame> frames;
  frames.reserve(calls.size());
  StackFrame frame{.address = next, .is_exact = true};
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    frame.space = call->space;
    frame.entry_ip = call->entry_ip;
    // The code to which a handler returns stands for the kernel's call itself.
    frame.is_handler = call->resume != 0 && call->entry != CallEntry::kReturnedTo;
    frame.repeats = call->repeats;
    frames.push_back(frame);
    const bool interrupted = call->resume != 0;
    frame = {.address = interrupted ? call->resume : call->return_address, .is_exact = interrupted};
  }
  return frames;
}

}  // namespace

class StackSnapshots::Impl final : public CallListener {
 public:
  Impl(FunctionFinder& functions, std::vector<StackPlace> places, ThreadOrigin origin,
       Options options)
      : places_(std::move(places)),
        origin_(std::move(origin)),
        options_(std::move(options)),
        stack_(functions, *this) {
    if (options_.exec_between) stack_.LookForExec(options_.exec_between);
    if (options_.machine != nullptr) stack_.LookForPauses(*options_.machine);
    if (!origin_.inherited.calls.empty()) stack_.Inherit(std::move(origin_.inherited.calls));
    if (origin_.life_begins) stack_.BeginsWithThread();
    if (origin_.life_begins) outside_ = Outside::kNothing;
  }

  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  void OnEvent(const TraceEvent& event) {
    TakeBefore(event.tsc);
    stack_.OnEvent(event);
    if (event.kind == EventKind::kStoppedAsync) next_ = event.ip;
  }
  void OnLoss(const DataLoss& loss) {
    TakeBefore(loss.tsc);
    stack_.OnLoss(loss);
    if (KeepsPlace(loss.cause)) return;
    Settle();
    loss_ = loss;
    outside_ = Outside::kLost;
    next_ = 0;
  }
  // The calls before it need not be those behind it.
  void OnUnknown(const UnknownFlow& unknown) {
    TakeBefore(unknown.tsc);
    stack_.OnLoss({.cause = LossCause::kNotKept, .tsc = unknown.tsc});
    Settle();
    outside_ = Outside::kNotRecorded;
    next_ = 0;
  }
  void End() {
    while (taken_ < places_.size()) {
      const bool at_end = places_[taken_].kind == StackPlace::Kind::kEnd;
      TakeHere(next_).reached = at_end;
    }
    stack_.Finish();
    Settle();
  }
  bool Done() const { return taken_ == places_.size() && pending_.empty(); }
  std::vector<ThreadStack> Take() { return std::move(stacks_); }
  bool TookAll() const { return taken_ == places_.size(); }
  Told TakeTold() {
    guesses_before_ = stack_.guess_count();
    return std::exchange(told_, {});
  }
  bool MayChange(const Told& told) const;
  std::vector<uint8_t> ToBytes(const SpaceNames& spaces) const;
  bool FromBytes(Bytes bytes, const SpaceNames& spaces);
  bool IsBehindLoss() const { return outside_ == Outside::kLost; }
  uint64_t tsc() const { return tsc_; }
  const std::vector<Call>& calls() const { return stack_.calls(); }
  uint64_t next() const { return next_; }
  bool MayLeap() const { return StackLeaper::MayLeap(stack_); }
  size_t NoLeapBelow() const { return StackLeaper::NoLeapBelow(stack_); }
  bool Leap(const StackLeap& leap) { return StackLeaper::Leap(stack_, leap); }
  void SetLoss(const DataLoss& loss) { loss_ = loss; }

  UsualCallDelivery WantsUsual() const override { return UsualCallDelivery::kNot; }
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call&, size_t depth, CallExit how, uint64_t, const ExitTime&) override {
    if (depth != 0 || how == CallExit::kReturn || how == CallExit::kTailCall) return;
    // An exception goes on behind callers that are not known.
    Settle();
    // What the program has become began here; of a thread that loses its stack it is not known.
    if (how == CallExit::kReplaced) outside_ = Outside::kNothing;
    if (how == CallExit::kPaused) outside_ = Outside::kNotRecorded;
  }
  void OnGap(const UntracedGap&, size_t) override {}
  void OnInherited(const std::vector<Call>& calls, uint64_t address) override;
  void OnCorrection(uint64_t guess, uint64_t next, uint32_t stack, const LeftStack& right) override;
  void OnCertain(uint64_t guess) override;

 private:
  // A stack about which the flow may still prove something.
  struct Pending {
    size_t index = 0;  // of stacks_
    std::vector<Call> calls;
    uint64_t next = 0;
    std::vector<StackGuess> guesses;
    std::vector<StackFrame> found;  // outside of the calls
  };

  bool Wants(uint64_t first, uint64_t count, uint64_t last_tsc) const;
  // How many of the run's instructions lie before the next place; all where it is not in there.
  size_t BeforePlace(const BlockRun& run) const;
  void TakeBefore(uint64_t tsc);
  ThreadStack& TakeHere(uint64_t next);
  void Settle();
  void Show(Pending& pending);
  void NoteOf(uint64_t guess) {
    if (guess <= guesses_before_) told_.guesses.push_back(guess);
  }

  std::vector<StackPlace> places_;
  ThreadOrigin origin_;
  Options options_;
  CallStack stack_;
  size_t taken_ = 0;  // places
  std::vector<ThreadStack> stacks_;
  std::vector<Pending> pending_;
  uint64_t next_ = 0;  // address; 0: not known
  uint64_t tsc_ = 0;
  bool begun_ = false;
  Outside outside_ = Outside::kNotRecorded;
  DataLoss loss_;
  Told told_;
  uint64_t guesses_before_ = 0;  // CallStack::guess_count when told_ was taken
};

// Returns whether the next place lies in `count` instructions from `first` on; the last one
// executed at `last_tsc`.
bool StackSnapshots::Impl::Wants(uint64_t first, uint64_t count, uint64_t last_tsc) const {
  if (taken_ == places_.size()) return false;
  const StackPlace& place = places_[taken_];
  switch (place.kind) {
    case StackPlace::Kind::kInstruction:
      return place.value >= first && place.value - first < count;
    case StackPlace::Kind::kTime:
      return last_tsc >= place.value;
    case StackPlace::Kind::kEnd:
      return false;
  }
  return false;
}

size_t StackSnapshots::Impl::BeforePlace(const BlockRun& run) const {
  const StackPlace& place = places_[taken_];
  if (place.kind == StackPlace::Kind::kInstruction) return place.value - stack_.instructions();
  size_t before = 0;
  while (run.TscOf(before) < place.value) ++before;
  return before;
}

void StackSnapshots::Impl::OnBlocks(const BlockBatch& batch) {
  if (!Wants(stack_.instructions(), batch.instructions(), batch.last_tsc())) {
    stack_.OnBlocks(batch);
    next_ = batch.next;
    if (batch.last_tsc() != 0) tsc_ = batch.last_tsc();
    begun_ = true;
    return;
  }
  for (BlockRuns runs(batch); runs.Next();) OnBlock(runs.run());
}

void StackSnapshots::Impl::OnBlock(const BlockRun& whole) {
  BlockRun run = whole;
  while (Wants(stack_.instructions(), run.lengths.size(), run.tsc)) {
    const size_t before = BeforePlace(run);
    if (before == 0) {
      if (places_[taken_].kind == StackPlace::Kind::kInstruction) stack_.Arrive(run);
      begun_ = begun_ || places_[taken_].kind == StackPlace::Kind::kInstruction;
      TakeHere(places_[taken_].kind == StackPlace::Kind::kInstruction ? run.address : next_);
      continue;
    }
    BlockRun part = run;
    part.lengths = run.lengths.first(before);
    part.exit = BlockExit::kFallThrough;
    part.last = InstructionClass::kOther;
    part.next = run.address;
    for (const uint8_t length : part.lengths) part.next += length;
    part.first_tsc = run.TscOf(0);
    part.tsc = run.TscOf(before - 1);
    part.last_lo = 0;
    stack_.OnBlock(part);
    begun_ = true;
    run.first_tsc = run.TscOf(before);
    run.address = next_ = part.next;
    run.lengths = run.lengths.subspan(before);
  }
  stack_.OnBlock(run);
  begun_ = true;
  next_ = run.next;
  if (run.tsc != 0) tsc_ = run.tsc;
}

void StackSnapshots::Impl::TakeBefore(uint64_t tsc) {
  while (tsc != 0 && taken_ < places_.size() && places_[taken_].kind == StackPlace::Kind::kTime &&
         tsc >= places_[taken_].value)
    TakeHere(next_);
  if (tsc != 0) tsc_ = tsc;
}

ThreadStack& StackSnapshots::Impl::TakeHere(uint64_t next) {
  if (stack_.stopped_at() != 0 && next == next_) next = stack_.stopped_at();
  ThreadStack& stack = stacks_.emplace_back();
  stack.place = places_[taken_++];
  stack.instructions = stack_.instructions();
  stack.tsc = tsc_;
  stack.stack = stack_.stack();
  stack.in_kernel = stack_.stopped_at() != 0;
  stack.outside = begun_ || outside_ == Outside::kLost ? outside_ : Outside::kNotBegun;
  if (stack.stack != 0) stack.outside = Outside::kNotRecorded;
  if (stack.outside == Outside::kLost) stack.loss = loss_;
  pending_.push_back({.index = stacks_.size() - 1,
                      .calls = stack_.calls(),
                      .next = next,
                      .guesses = stack_.guesses(),
                      .found = {}});
  Pending& pending = pending_.back();
  const bool may_change =
      begun_ && (stack.outside != Outside::kNothing || !pending.guesses.empty());
  if (!may_change) {
    Show(pending);
    pending_.pop_back();
  }
  return stack;
}

void StackSnapshots::Impl::OnEnter(const Call& call, size_t depth) {
  if (depth != 0 || call.entry != CallEntry::kReturnedTo || call.resume != 0) return;
  told_.outside = true;
  for (Pending& pending : pending_)
    if (stacks_[pending.index].stack == stack_.stack() && !pending.calls.empty())
      pending.found.push_back(
          {.address = call.entry_ip, .space = call.space, .is_guess = !stack_.guesses().empty()});
}

void StackSnapshots::Impl::OnCorrection(uint64_t guess, uint64_t next, uint32_t stack,
                                        const LeftStack& right) {
  NoteOf(guess);
  for (Pending& pending : pending_) {
    const auto found = std::ranges::find(pending.guesses, guess, &StackGuess::number);
    if (found == pending.guesses.end() || found->left > right.calls.size()) continue;
    const size_t depth = right.calls.size() - found->left;
    std::vector<Call> calls(right.calls.begin(),
                            right.calls.begin() + static_cast<ptrdiff_t>(depth));
    calls.insert(calls.end(), pending.calls.begin() + static_cast<ptrdiff_t>(found->depth),
                 pending.calls.end());
    std::vector<StackGuess> guesses = right.guesses;
    for (StackGuess& older : guesses) {
      const size_t left = older.depth - std::min(older.depth, depth);
      older.depth -= left;
      older.left += left;
    }
    guesses.push_back({next, depth, found->left});
    for (auto above = found + 1; above != pending.guesses.end(); ++above)
      guesses.push_back({above->number, above->depth - found->depth + depth, above->left});
    pending.calls = std::move(calls);
    pending.guesses = std::move(guesses);
    stacks_[pending.index].stack = stack;
  }
}

void StackSnapshots::Impl::OnCertain(uint64_t guess) {
  NoteOf(guess);
  for (Pending& pending : pending_)
    std::erase_if(pending.guesses, [&](const StackGuess& each) { return each.number == guess; });
}

void StackSnapshots::Impl::OnInherited(const std::vector<Call>& calls, uint64_t address) {
  std::vector<StackFrame> frames = FramesOf(calls, address);
  if (!frames.empty()) frames.front().is_exact = false;
  outside_ = origin_.inherited.outside;
  told_.outside = true;
  for (Pending& pending : pending_) {
    if (stacks_[pending.index].stack != 0) continue;
    pending.found.insert(pending.found.end(), frames.begin(), frames.end());
    stacks_[pending.index].outside = outside_;
  }
}

void StackSnapshots::Impl::Show(Pending& pending) {
  ThreadStack& stack = stacks_[pending.index];
  stack.frames = FramesOf(pending.calls, pending.next);
  if (!pending.guesses.empty())
    for (size_t i = 0; i < pending.guesses.back().depth; ++i)
      stack.frames[stack.frames.size() - 1 - i].is_guess = true;
  if (options_.keep_calls) stack.calls = std::move(pending.calls);
  stack.frames.insert(stack.frames.end(), pending.found.begin(), pending.found.end());
}

// From here on nothing is found out about what was before.
void StackSnapshots::Impl::Settle() {
  told_.outside = true;
  for (Pending& pending : pending_) Show(pending);
  pending_.clear();
}

bool StackSnapshots::Impl::MayChange(const Told& told) const {
  return std::ranges::any_of(pending_, [&](const Pending& pending) {
    return told.outside || std::ranges::any_of(pending.guesses, [&](const StackGuess& guess) {
             return std::ranges::find(told.guesses, guess.number) != told.guesses.end();
           });
  });
}

// The stacks, what else there is, and the size of that.
std::vector<uint8_t> StackSnapshots::Impl::ToBytes(const SpaceNames& spaces) const {
  std::vector<uint8_t> bytes = CallStackArchive::ToBytes(stack_, spaces);
  if (bytes.empty()) return bytes;
  NumberWriter out;
  out.Number(next_);
  out.Number(tsc_);
  out.Number(begun_);
  for (const Outside outside : {outside_, origin_.inherited.outside})
    out.Number(static_cast<uint64_t>(outside));
  const std::vector<uint8_t> own = out.Take();
  bytes.insert(bytes.end(), own.begin(), own.end());
  bytes.push_back(static_cast<uint8_t>(own.size()));
  return bytes;
}

bool StackSnapshots::Impl::FromBytes(Bytes bytes, const SpaceNames& spaces) {
  const Bytes stack = StackPart(bytes);
  if (stack.empty()) return false;
  const Bytes own = bytes.subspan(stack.size(), bytes.size() - stack.size() - 1);
  NumberReader in(own);
  next_ = in.Number();
  tsc_ = in.Number();
  begun_ = in.Number() != 0;
  for (Outside* outside : {&outside_, &origin_.inherited.outside}) {
    const uint64_t number = in.Number();
    if (number > static_cast<uint64_t>(Outside::kNotBegun)) in.Fail();
    *outside = static_cast<Outside>(in.ok() ? number : 0);
  }
  const bool done = in.Done();
  if (!CallStackArchive::FromBytes(stack_, stack, spaces) || !done) return false;
  TakeTold();
  return true;
}

StackSnapshots::StackSnapshots(FunctionFinder& functions, std::vector<StackPlace> places,
                               ThreadOrigin origin, Options options)
    : impl_(std::make_unique<Impl>(functions, std::move(places), std::move(origin),
                                   std::move(options))) {}
StackSnapshots::~StackSnapshots() = default;

void StackSnapshots::OnThreadEnd(const ThreadFlow&, size_t) { impl_->End(); }
void StackSnapshots::OnBlock(const BlockRun& run) { impl_->OnBlock(run); }
void StackSnapshots::OnBlocks(const BlockBatch& batch) { impl_->OnBlocks(batch); }
void StackSnapshots::OnEvent(const TraceEvent& event) { impl_->OnEvent(event); }
void StackSnapshots::OnLoss(const DataLoss& loss) { impl_->OnLoss(loss); }
void StackSnapshots::OnUnknown(const UnknownFlow& unknown) { impl_->OnUnknown(unknown); }
bool StackSnapshots::Done() const { return impl_->Done(); }
std::vector<ThreadStack> StackSnapshots::Take() { return impl_->Take(); }
bool StackSnapshots::TookAll() const { return impl_->TookAll(); }
StackSnapshots::Told StackSnapshots::TakeTold() { return impl_->TakeTold(); }
bool StackSnapshots::MayChange(const Told& told) const { return impl_->MayChange(told); }
std::vector<uint8_t> StackSnapshots::ToBytes(const SpaceNames& spaces) const {
  return impl_->ToBytes(spaces);
}
bool StackSnapshots::FromBytes(Bytes bytes, const SpaceNames& spaces) {
  return impl_->FromBytes(bytes, spaces);
}
Bytes StackSnapshots::StackPart(Bytes bytes) {
  if (bytes.empty() || bytes.back() >= bytes.size()) return {};
  return bytes.first(bytes.size() - bytes.back() - 1);
}
bool StackSnapshots::IsBehindLoss() const { return impl_->IsBehindLoss(); }
uint64_t StackSnapshots::tsc() const { return impl_->tsc(); }
const std::vector<Call>& StackSnapshots::calls() const { return impl_->calls(); }
uint64_t StackSnapshots::next() const { return impl_->next(); }
bool StackSnapshots::MayLeap() const { return impl_->MayLeap(); }
size_t StackSnapshots::NoLeapBelow() const { return impl_->NoLeapBelow(); }
bool StackSnapshots::Leap(const StackLeap& leap) { return impl_->Leap(leap); }
bool StackSnapshots::Keep(const SpaceNames& spaces) {
  kept_ = ToBytes(spaces);
  return !kept_.empty();
}
void StackSnapshots::GoBack(const SpaceNames& spaces) { FromBytes(kept_, spaces); }
void StackSnapshots::SetLoss(const DataLoss& loss) { impl_->SetLoss(loss); }

}  // namespace flowback
