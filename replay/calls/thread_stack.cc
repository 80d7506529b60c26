// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_stack.h"

#include <algorithm>
#include <optional>
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
  Impl(FunctionFinder& functions, std::vector<StackPlace> places, ThreadOrigin origin,
       Options options)
      : places_(std::move(places)),
        origin_(std::move(origin)),
        options_(std::move(options)),
        stack_(functions, *this) {
    if (options_.exec_between) stack_.LookForExec(options_.exec_between);
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
    // An exception goes on behind callers that are not known.
    Settle();
    // What the program has become began here; of a thread that loses its stack it is not known.
    if (how == CallExit::kReplaced) outside_ = Outside::kNothing;
  }
  void OnGap(const UntracedGap&, size_t) override {}
  void OnInherited(const std::vector<Call>& calls, uint64_t address) override;
  void OnCorrection(uint64_t guess, uint64_t next, uint32_t stack, const LeftStack& right) override;
  void OnCertain(uint64_t guess) override;

 private:
  // A stack of which something may be found out yet.
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

void StackTaker::Impl::OnEnter(const Call& call, size_t depth) {
  if (depth != 0 || call.entry != CallEntry::kReturnedTo || call.resume != 0) return;
  for (Pending& pending : pending_)
    if (stacks_[pending.index].stack == stack_.stack() && !pending.calls.empty())
      pending.found.push_back(
          {.address = call.entry_ip, .space = call.space, .is_guess = !stack_.guesses().empty()});
}

void StackTaker::Impl::OnCorrection(uint64_t guess, uint64_t next, uint32_t stack,
                                    const LeftStack& right) {
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

void StackTaker::Impl::OnCertain(uint64_t guess) {
  for (Pending& pending : pending_)
    std::erase_if(pending.guesses, [&](const StackGuess& each) { return each.number == guess; });
}

void StackTaker::Impl::OnInherited(const std::vector<Call>& calls, uint64_t address) {
  std::vector<StackFrame> frames = FramesOf(calls, address);
  if (!frames.empty()) frames.front().is_exact = false;
  outside_ = origin_.inherited.outside;
  for (Pending& pending : pending_) {
    if (stacks_[pending.index].stack != 0) continue;
    pending.found.insert(pending.found.end(), frames.begin(), frames.end());
    stacks_[pending.index].outside = outside_;
  }
}

void StackTaker::Impl::Show(Pending& pending) {
  ThreadStack& stack = stacks_[pending.index];
  stack.frames = FramesOf(pending.calls, pending.next);
  if (!pending.guesses.empty())
    for (size_t i = 0; i < pending.guesses.back().depth; ++i)
      stack.frames[stack.frames.size() - 1 - i].is_guess = true;
  if (options_.keep_calls) stack.calls = std::move(pending.calls);
  stack.frames.insert(stack.frames.end(), pending.found.begin(), pending.found.end());
}

// From here on nothing is found out about what was before.
void StackTaker::Impl::Settle() {
  for (Pending& pending : pending_) Show(pending);
  pending_.clear();
}

StackTaker::StackTaker(FunctionFinder& functions, std::vector<StackPlace> places,
                       ThreadOrigin origin, Options options)
    : impl_(std::make_unique<Impl>(functions, std::move(places), std::move(origin),
                                   std::move(options))) {}
StackTaker::~StackTaker() = default;

void StackTaker::OnThreadEnd(const ThreadFlow&, size_t) { impl_->End(); }
void StackTaker::OnBlock(const BlockRun& run) { impl_->OnBlock(run); }
void StackTaker::OnBlocks(const BlockBatch& batch) { impl_->OnBlocks(batch); }
void StackTaker::OnEvent(const TraceEvent& event) { impl_->OnEvent(event); }
void StackTaker::OnLoss(const DataLoss& loss) { impl_->OnLoss(loss); }
bool StackTaker::Done() const { return impl_->Done(); }
std::vector<ThreadStack> StackTaker::Take() { return impl_->Take(); }

namespace {

constexpr unsigned kMostParents = 16;

// Where a thread's flow begins.
class FirstAddress final : public PlayConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (address == 0) address = run.address;
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override { lost_ = true; }
  bool Done() const override { return address != 0 || lost_; }
  uint64_t address = 0;

 private:
  bool lost_ = false;
};

// The system calls that lie before an address: how many instructions were executed with each.
class SystemCalls final : public PlayConsumer {
 public:
  explicit SystemCalls(uint64_t behind) : behind_(behind) {}
  void OnBlock(const BlockRun& run) override {
    instructions_ += run.lengths.size();
    const bool is_call = run.last == InstructionClass::kFarCall;
    if (!is_call || run.LastAddress() + run.lengths.back() != behind_) return;
    calls.push_back({instructions_, run.tsc});
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  struct SystemCall {
    uint64_t instructions = 0;
    uint64_t tsc = 0;
  };
  std::vector<SystemCall> calls;

 private:
  uint64_t behind_;
  uint64_t instructions_ = 0;
};

const ForkRecord* ForkOf(const Recording& recording, const ThreadFlow& thread) {
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* fork = std::get_if<ForkRecord>(&record);
        fork != nullptr && fork->tid == thread.tid && fork->pid == thread.pid)
      return fork;
  return nullptr;
}

bool Executes(const Recording& recording, const ThreadFlow& thread) {
  return thread.pid == thread.tid &&
         std::ranges::any_of(recording.sideband, [&](const SidebandRecord& record) {
           const auto* comm = std::get_if<CommRecord>(&record);
           return comm != nullptr && comm->exec && comm->pid == thread.pid;
         });
}

struct Family {
  const std::vector<const ThreadFlow*>& flows;
  const Recording& recording;
  FunctionFinder& functions;
  Player& player;

  Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, unsigned parents) {
    ThreadOrigin origin;
    const ForkRecord* fork = ForkOf(recording, thread);
    const bool is_copy = fork != nullptr && fork->pid != fork->parent_pid;
    origin.life_begins = fork != nullptr ? !is_copy : Executes(recording, thread);
    const auto parent = std::ranges::find_if(
        flows, [&](const ThreadFlow* each) { return is_copy && each->tid == fork->parent_tid; });
    if (parent == flows.end() || parents == kMostParents) return origin;
    Result<std::optional<uint64_t>> call = CallOf(*fork, thread, **parent);
    if (!call) return Fail(call.error());
    if (!*call) return origin;
    Result<ThreadOrigin> older = OriginOf(**parent, parents + 1);
    if (!older) return older;
    const StackPlace place{StackPlace::Kind::kInstruction, **call};
    StackTaker taker(functions, {place}, *std::move(older),
                     {.exec_between = {}, .keep_calls = true});
    if (Status played = player.Play({*parent}, taker); !played) return Fail(played.error());
    std::vector<ThreadStack> stacks = taker.Take();
    if (!stacks.empty()) origin.inherited = std::move(stacks.front());
    return origin;
  }

  Result<uint64_t> BeginOf(const ThreadFlow& thread) {
    FirstAddress first;
    if (Status played = player.Play({&thread}, first); !played) return Fail(played.error());
    return first.address;
  }

  // Behind which instruction of its parent the thread was made. Both go on at one address. Of
  // several system calls there the one in turn made it, where there are as many children; else the
  // one nearest in time.
  Result<std::optional<uint64_t>> CallOf(const ForkRecord& fork, const ThreadFlow& thread,
                                         const ThreadFlow& parent) {
    const Result<uint64_t> begin = BeginOf(thread);
    if (!begin) return Fail(begin.error());
    SystemCalls system(*begin);
    if (Status played = player.Play({&parent}, system); !played) return Fail(played.error());
    if (*begin == 0 || system.calls.empty()) return std::nullopt;
    std::vector<uint64_t> forks;
    for (const ThreadFlow* each : flows) {
      const ForkRecord* other = ForkOf(recording, *each);
      if (other == nullptr || other->parent_tid != parent.tid) continue;
      const Result<uint64_t> its = BeginOf(*each);
      if (!its) return Fail(its.error());
      if (*its == *begin) forks.push_back(other->time);
    }
    if (forks.size() == system.calls.size()) {
      const auto turn =
          std::ranges::count_if(forks, [&](uint64_t time) { return time < fork.time; });
      return system.calls[static_cast<size_t>(turn)].instructions;
    }
    return NearestTo(fork.time, system.calls);
  }

  std::optional<uint64_t> NearestTo(uint64_t time,
                                    const std::vector<SystemCalls::SystemCall>& calls) const {
    if (!recording.time.known()) return std::nullopt;
    const auto distance = [&](const SystemCalls::SystemCall& call) {
      const uint64_t its = recording.time.ToNanoseconds(call.tsc);
      return its < time ? time - its : its - time;
    };
    return std::ranges::min_element(calls, {}, distance)->instructions;
  }
};

}  // namespace

Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, const std::vector<const ThreadFlow*>& flows,
                              const Recording& recording, FunctionFinder& functions,
                              Player& player) {
  return Family{flows, recording, functions, player}.OriginOf(thread, 0);
}

}  // namespace flowback
