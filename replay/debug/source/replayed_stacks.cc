// SPDX-License-Identifier: MIT
#include "replay/debug/source/replayed_stacks.h"

#include <optional>
#include <utility>
#include <vector>

#include "replay/calls/exec_times.h"
#include "replay/calls/kept_stacks.h"
#include "replay/calls/stack_snapshots.h"

namespace flowback {

class ReplayedStacks::Impl {
 public:
  Impl(Session& session, FlowIndex& index, IndexCache cache)
      : session_(session),
        index_(index),
        kept_({index, session.functions(), session.symbols(),
               [&session] { return session.IndexAnew(); }},
              std::move(cache)),
        player_(session.inputs(), [&session] { return session.NewDecoder(); },
                {.threads = session.options().ThreadCount()}) {}

  Result<const ThreadStack*> At(size_t thread, uint64_t number) {
    if (thread == thread_ && number == number_) return &stack_;
    const ThreadFlow& flow = session_.flows()[thread];
    const ExecTimes execs(session_.recording(), session_.clock(), flow.pid);
    const StackSnapshots::Options how{
        .exec_between = [&](uint64_t begin, uint64_t end) { return execs.Between(begin, end); },
        .keep_calls = true,
        .machine = &session_.recording().machine};
    const bool is_end = number >= index_.threads()[thread].instructions;
    const StackPlace place{.kind = is_end ? StackPlace::Kind::kEnd : StackPlace::Kind::kInstruction,
                           .value = number};
    auto origin = kept_.Has(thread) ? ThreadOrigin() : OriginOfFlow(flow);
    if (!origin) return Fail(origin.error());
    if (!kept_.Has(thread)) kept_.Make(thread, *origin, how);
    if (kept_.Has(thread))
      stack_ = kept_.At(thread, place, how);
    else if (Status played = Play(flow, place, *std::move(origin), how); !played)
      return Fail(played.error());
    thread_ = thread;
    number_ = number;
    return &stack_;
  }

  void Keep() const { kept_.Keep(); }

 private:
  Result<ThreadOrigin> OriginOfFlow(const ThreadFlow& flow) {
    std::vector<const ThreadFlow*> all;
    for (const ThreadFlow& other : session_.flows()) all.push_back(&other);
    return OriginOf(flow, all, session_.recording(), session_.functions(), player_);
  }

  // Plays a thread whose state cannot be kept.
  Status Play(const ThreadFlow& flow, const StackPlace& place, ThreadOrigin origin,
              const StackSnapshots::Options& how) {
    StackSnapshots taker(session_.functions(), {place}, std::move(origin), how);
    Status played = player_.Play({&flow}, taker);
    std::vector<ThreadStack> stacks = taker.Take();
    stack_ = stacks.empty() ? ThreadStack() : std::move(stacks.front());
    return played;
  }

  Session& session_;
  FlowIndex& index_;
  KeptStacks kept_;
  Player player_;
  std::optional<size_t> thread_;  // of the stack at hand
  uint64_t number_ = 0;
  ThreadStack stack_;
};

ReplayedStacks::ReplayedStacks(Session& session, FlowIndex& index, IndexCache cache)
    : impl_(std::make_unique<Impl>(session, index, std::move(cache))) {}
ReplayedStacks::~ReplayedStacks() = default;

Result<const ThreadStack*> ReplayedStacks::At(size_t thread, uint64_t number) {
  return impl_->At(thread, number);
}
void ReplayedStacks::Keep() const { impl_->Keep(); }

}  // namespace flowback
