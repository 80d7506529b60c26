// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_stack.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace flowback {
namespace {

using Outside = ThreadStack::Outside;

// The frames of calls, the outermost of which comes first; `next` is what executes next.
std::vector<StackFrame> FramesOf(const std::vector<Call>& calls, uint64_t next) {
  std::vector<StackFrame> frames;
  frames.reserve(calls.size());
  StackFrame frame{.address = next, .is_exact = true};
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    frame.space = call->space;
    frame.entry_ip = call->entry_ip;
    // The code to which a handler returns stands for the kernel's call itself.
    frame.is_handler = call->resume != 0 && call->entry != CallEntry::kReturnedTo;
    frames.push_back(frame);
    const bool interrupted = call->resume != 0;
    frame = {.address = interrupted ? call->resume : call->return_address, .is_exact = interrupted};
  }
  return frames;
}

}  // namespace

class StackTaker::Impl final : public CallListener {
 public:
  Impl(FunctionFinder& functions, std::vector<StackPlace> places, Options options)
      : places_(std::move(places)), options_(std::move(options)), stack_(functions, *this) {
    if (options_.exec_between) stack_.LookForExec(options_.exec_between);
    if (options_.life_begins) outside_ = Outside::kNothing;
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
    Settle();
    loss_ = loss;
    outside_ = Outside::kLost;
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

  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call&, size_t depth, CallExit how, uint64_t, const ExitTime&) override {
    if (depth != 0 || how == CallExit::kReturn || how == CallExit::kTailCall) return;
    if (how != CallExit::kUnwound) Settle();
    // What the program has become began here; of a thread that loses its stack it is not known.
    if (how == CallExit::kReplaced) outside_ = Outside::kNothing;
  }
  void OnGap(const UntracedGap&, size_t) override {}
  void OnCorrection(uint64_t guess, uint64_t next, uint32_t stack,
                    const std::vector<Call>& calls) override;

 private:
  // A stack of which something may be found out yet.
  struct Pending {
    size_t index = 0;  // of stacks_
    std::vector<Call> calls;
    uint64_t next = 0;
    StackGuess guess;
    std::vector<StackFrame> found;  // outside of the calls
  };

  bool Wants(uint64_t first, uint64_t count, uint64_t last_tsc) const;
  // How many of the run's instructions lie before the next place; all where it is not in there.
  size_t BeforePlace(const BlockRun& run) const;
  void TakeBefore(uint64_t tsc);
  ThreadStack& TakeHere(uint64_t next);
  void Settle();
  void Show(Pending& pending);

  std::vector<StackPlace> places_;
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
};

// Whether a place lies in so many instructions, of which the last one executed then.
bool StackTaker::Impl::Wants(uint64_t first, uint64_t count, uint64_t last_tsc) const {
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

size_t StackTaker::Impl::BeforePlace(const BlockRun& run) const {
  const StackPlace& place = places_[taken_];
  if (place.kind == StackPlace::Kind::kInstruction) return place.value - stack_.instructions();
  size_t before = 0;
  while (run.TscOf(before) < place.value) ++before;
  return before;
}

void StackTaker::Impl::OnBlocks(const BlockBatch& batch) {
  if (!Wants(stack_.instructions(), batch.instructions(), batch.last_tsc())) {
    stack_.OnBlocks(batch);
    next_ = batch.next;
    if (batch.last_tsc() != 0) tsc_ = batch.last_tsc();
    begun_ = true;
    return;
  }
  for (BlockRuns runs(batch); runs.Next();) OnBlock(runs.run());
}

void StackTaker::Impl::OnBlock(const BlockRun& whole) {
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

void StackTaker::Impl::TakeBefore(uint64_t tsc) {
  while (tsc != 0 && taken_ < places_.size() && places_[taken_].kind == StackPlace::Kind::kTime &&
         tsc >= places_[taken_].value)
    TakeHere(next_);
  if (tsc != 0) tsc_ = tsc;
}

ThreadStack& StackTaker::Impl::TakeHere(uint64_t next) {
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
                      .guess = stack_.guess(),
                      .found = {}});
  Pending& pending = pending_.back();
  const bool may_change =
      begun_ && (stack.outside != Outside::kNothing || pending.guess.number != 0);
  if (!may_change) {
    Show(pending);
    pending_.pop_back();
  }
  return stack;
}

void StackTaker::Impl::OnEnter(const Call& call, size_t depth) {
  if (depth != 0 || call.entry != CallEntry::kReturnedTo || call.resume != 0) return;
  for (Pending& pending : pending_)
    if (stacks_[pending.index].stack == stack_.stack() && !pending.calls.empty())
      pending.found.push_back({.address = call.entry_ip, .space = call.space});
}

void StackTaker::Impl::OnCorrection(uint64_t guess, uint64_t next, uint32_t stack,
                                    const std::vector<Call>& calls) {
  for (Pending& pending : pending_) {
    if (pending.guess.number != guess || pending.guess.left > calls.size()) continue;
    const size_t depth = calls.size() - pending.guess.left;
    std::vector<Call> right(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(depth));
    right.insert(right.end(), pending.calls.begin() + static_cast<ptrdiff_t>(pending.guess.depth),
                 pending.calls.end());
    pending.calls = std::move(right);
    pending.guess.number = next;
    pending.guess.depth = depth;
    stacks_[pending.index].stack = stack;
  }
}

void StackTaker::Impl::Show(Pending& pending) {
  ThreadStack& stack = stacks_[pending.index];
  stack.frames = FramesOf(pending.calls, pending.next);
  stack.frames.insert(stack.frames.end(), pending.found.begin(), pending.found.end());
}

// From here on nothing is found out about what was before.
void StackTaker::Impl::Settle() {
  for (Pending& pending : pending_) Show(pending);
  pending_.clear();
}

StackTaker::StackTaker(FunctionFinder& functions, std::vector<StackPlace> places, Options options)
    : impl_(std::make_unique<Impl>(functions, std::move(places), std::move(options))) {}
StackTaker::~StackTaker() = default;

void StackTaker::OnThreadEnd(const ThreadFlow&, size_t) { impl_->End(); }
void StackTaker::OnBlock(const BlockRun& run) { impl_->OnBlock(run); }
void StackTaker::OnBlocks(const BlockBatch& batch) { impl_->OnBlocks(batch); }
void StackTaker::OnEvent(const TraceEvent& event) { impl_->OnEvent(event); }
void StackTaker::OnLoss(const DataLoss& loss) { impl_->OnLoss(loss); }
bool StackTaker::Done() const { return impl_->Done(); }
std::vector<ThreadStack> StackTaker::Take() { return impl_->Take(); }

bool LifeBegins(const Recording& recording, int32_t pid, int32_t tid) {
  return std::ranges::any_of(recording.sideband, [&](const SidebandRecord& record) {
    if (const auto* comm = std::get_if<CommRecord>(&record))
      return comm->exec && comm->pid == pid && pid == tid;
    const auto* fork = std::get_if<ForkRecord>(&record);
    return fork != nullptr && fork->tid == tid && fork->pid == fork->parent_pid;
  });
}

}  // namespace flowback
