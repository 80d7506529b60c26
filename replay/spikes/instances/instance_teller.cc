// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/instance_teller.h"

#include <algorithm>
#include <utility>

namespace flowback {

InstanceTeller::InstanceTeller(const InstancePlan& plan, const TimeAccount* account,
                               const Instance& thread, uint32_t first)
    : plan_(plan), walk_(account), instance_(thread), next_(first) {}

void InstanceTeller::OnEnter(const Call& call, size_t depth) {
  if (!open_) {
    if (plan_.is_region && plan_.is_region(call.space, call.entry_ip)) Open(call, depth);
    return;
  }
  Advance(walk_.PointOf(plan_.unit, call.tsc, call.bounds), call.instructions_before);
  if (on_ != own_) {
    if (by_call_ && plan_.is_region(call.space, call.entry_ip)) ++overlapping_;
    return;
  }
  gap_node_ = PathTree::kRoot;
  const bool replaces = tail_ && depth == base_;
  tail_ = false;
  if (depth <= base_ && !replaces) return;
  frames_.push_back(detail_ ? FrameOf(call) : Frame());
}

// A call that replaces another one by a jump is reported as called in that one. But the dynamic
// linker's stub, which finds a function when it is called first, jumps to it on behalf of the
// caller.
InstanceTeller::Frame InstanceTeller::FrameOf(const Call& call) {
  const Frame replaced = std::exchange(replaced_, {});
  Frame frame{.node = 0, .function = plan_.functions.NumberOf(call), .site = call.site};
  InstancePath path{.parent = top(),
                    .kind = PathKind::kCall,
                    .function = frame.function,
                    .abi = 0,
                    .site = call.site,
                    .space = call.space};
  if (call.entry == CallEntry::kTailCall && replaced.site != 0) {
    frame.site = replaced.site;
    if (IsResolver(frame.function) || IsResolver(replaced.function))
      path.site = replaced.site;
    else if (replaced.node != PathTree::kRoot)
      path.parent = replaced.node;
  }
  frame.node = plan_.paths.Find(path);
  // A call that is too deep is reported with its caller, and is no call of that.
  const bool is_told =
      frame.node != path.parent || plan_.paths.nodes()[frame.node].function == frame.function;
  if (is_told) ++costs_.Of(frame.node).entries;
  return frame;
}

bool InstanceTeller::IsResolver(uint32_t function) const {
  return function != CallPath::kNoFunction &&
         plan_.functions.all()[function].name.starts_with("_dl_runtime_resolve");
}

void InstanceTeller::Open(const Call& call, size_t depth) {
  StartAt(walk_.PointOf(plan_.unit, call.tsc, call.bounds), call.instructions_before);
  instance_.function = plan_.functions.NumberOf(call);
  // A recording may begin with the function's first instruction (record --from).
  const TimelineFunction& function = plan_.functions.all()[instance_.function];
  const bool from_entry = function.named && function.entry_ip == call.entry_ip;
  const bool partial =
      (call.entry == CallEntry::kRunning && !from_entry) || call.entry == CallEntry::kReturnedTo;
  instance_.state = partial ? InstanceState::kBegunBefore : InstanceState::kWhole;
  base_ = depth;
  by_call_ = true;
}

void InstanceTeller::Begin(uint64_t position, const ExitTime& time,
                           const std::vector<Call>& calls) {
  if (open_) return;
  StartIn(calls, walk_.PointOf(plan_.unit, time.tsc, time.bounds), position);
}

void InstanceTeller::BeginPaired(uint64_t position, const TimePoint& begin,
                                 const std::vector<Call>& calls) {
  TimePoint at = begin;
  if (walk_.at().time > begin.time) at = walk_.at();
  StartIn(calls, at, position);
  instance_.begin = begin;
  const uint64_t waited = at.time - begin.time;
  if (waited == 0) return;
  const auto off = static_cast<size_t>(TimeClass::kOffCpu);
  instance_.times[off] += waited;
  if (!detail_) return;
  PathCost& cost =
      costs_.Of(plan_.paths.Find({.parent = PathTree::kRoot, .kind = PathKind::kQueued}));
  ++cost.entries;
  cost.times[off] += waited;
}

void InstanceTeller::StartIn(const std::vector<Call>& calls, const TimePoint& at,
                             uint64_t position) {
  StartAt(at, position);
  if (!calls.empty()) instance_.function = plan_.functions.NumberOf(calls.back());
  instance_.state = InstanceState::kWhole;
  base_ = calls.empty() ? 0 : calls.size() - 1;
  by_call_ = false;
}

void InstanceTeller::StartAt(const TimePoint& at, uint64_t position) {
  walk_.To(at, [](TimeClass, uint64_t) {});
  Instance opened;
  opened.thread = instance_.thread;
  opened.tid = instance_.tid;
  instance_ = opened;
  instance_.begin = at;
  instance_.first_instruction = position_ = position;
  TakeCycles(position, false);
  detail_ = plan_.sink.WantsDetail(next_);
  open_ = true;
  tail_ = false;
  own_ = on_;
  gap_node_ = PathTree::kRoot;
  frames_.clear();
  if (detail_) ++costs_.Of(PathTree::kRoot).entries;
  marks_.push_back({.position = position, .number = next_, .begins = true, .detail = detail_});
}

void InstanceTeller::Close(uint64_t position, const ExitTime& time, InstanceState state) {
  if (!open_) return;
  Advance(walk_.PointOf(plan_.unit, time.tsc, time.bounds), position);
  instance_.end = walk_.has_times() ? walk_.at() : instance_.begin;
  instance_.end_instruction = position_;
  if (instance_.state == InstanceState::kWhole) instance_.state = state;
  marks_.push_back({.position = position_, .number = next_, .begins = false, .detail = detail_});
  open_ = false;
  plan_.sink.OnInstance(next_++, instance_, costs_);
  costs_.Clear();
}

// A call that jumped to another function goes on as that one: the instance ends with its return.
void InstanceTeller::OnExit(const Call& /*call*/, size_t depth, CallExit how,
                            uint64_t /*instructions*/, const ExitTime& time) {
  if (!open_) return;
  const bool cut = how == CallExit::kLost || how == CallExit::kReplaced || how == CallExit::kEnd ||
                   how == CallExit::kPaused;
  const uint64_t position = stack_->instructions();
  if (on_ != own_) return Advance(walk_.PointOf(plan_.unit, time.tsc, time.bounds), position);
  if (cut)
    return Close(position, time,
                 how == CallExit::kLost ? InstanceState::kLost : InstanceState::kCutByEnd);
  if (depth > base_ || (depth == base_ && !frames_.empty())) {
    Advance(walk_.PointOf(plan_.unit, time.tsc, time.bounds), position);
    gap_node_ = PathTree::kRoot;
    if (!frames_.empty()) {
      replaced_ = how == CallExit::kTailCall ? frames_.back() : Frame();
      frames_.pop_back();
    }
    if (depth > base_) return;
    if (!frames_.empty()) return;
  }
  if (how == CallExit::kTailCall) {
    tail_ = true;
    return;
  }
  if (by_call_) return Close(position, time, InstanceState::kWhole);
  base_ = std::min(base_, depth == 0 ? 0 : depth - 1);
}

// All that was not executing since the last move is the gap's.
void InstanceTeller::OnGap(const UntracedGap& gap, size_t /*depth*/) {
  if (!open_ || on_ != own_) return;
  gap_node_ = detail_ ? NodeOf(gap) : PathTree::kRoot;
  if (detail_) CountEntry(gap_node_);
  Advance(walk_.PointOf(plan_.unit, gap.end_tsc, {}), position_);
}

// An interruption counts at each level: all of them, the function's, the place's.
void InstanceTeller::CountEntry(uint32_t node) {
  ++costs_.Of(node).entries;
  const std::vector<InstancePath>& nodes = plan_.paths.nodes();
  while (nodes[node].kind == PathKind::kInterrupted &&
         nodes[nodes[node].parent].kind == PathKind::kInterrupted) {
    node = nodes[node].parent;
    ++costs_.Of(node).entries;
  }
}

uint32_t InstanceTeller::NodeOf(const UntracedGap& gap) {
  if (gap.cause != UntracedGap::Cause::kSystemCall) {
    const uint32_t in_function = InterruptedNode();
    // Interrupts come anywhere: they must not take the room that calls need.
    if (plan_.paths.nodes().size() > PathTree::kMostNodes / 2) return in_function;
    return plan_.paths.Find({.parent = in_function,
                             .kind = PathKind::kInterrupted,
                             .function = top_function(),
                             .site = gap.site,
                             .space = gap.space});
  }
  return plan_.paths.Find({.parent = top(),
                           .kind = PathKind::kSystemCall,
                           .function = gap.call_number.value_or(CallPath::kNoFunction),
                           .abi = static_cast<uint8_t>(gap.call_abi),
                           .site = gap.site,
                           .space = gap.space});
}

// The costs of all interruptions are summed up apart from the calls, by the function that they met.
uint32_t InstanceTeller::InterruptedNode() {
  const uint32_t all =
      plan_.paths.Find({.parent = PathTree::kRoot, .kind = PathKind::kInterrupted});
  return plan_.paths.Find(
      {.parent = all, .kind = PathKind::kInterrupted, .function = top_function()});
}

// What executes on another stack is not the instance's own; the time is a part of it.
void InstanceTeller::OnSwitch(uint32_t stack) {
  const bool was_own = on_ == own_;
  const bool is_own = stack == own_;
  if (open_ && was_own != is_own) {
    Advance(walk_.at(), stack_->instructions());
    marks_.push_back({.position = position_,
                      .number = next_,
                      .begins = is_own,
                      .switches = true,
                      .detail = detail_});
  }
  on_ = stack;
}

void InstanceTeller::Advance(const TimePoint& until, uint64_t position) {
  walk_.To(until, [&](TimeClass kind, uint64_t time) { Give(kind, time); });
  TakeCycles(position, on_ == own_);
  if (position <= position_) return;
  const uint64_t passed = position - std::exchange(position_, position);
  if (on_ != own_) return;
  instance_.instructions += passed;
  if (detail_) costs_.Of(top()).instructions += passed;
}

// What a packet counts is given to the path in which the stretch ends that it counts.
void InstanceTeller::TakeCycles(uint64_t position, bool counts) {
  for (; next_cycles_ < cycles_.size() && cycles_[next_cycles_].behind <= position;
       ++next_cycles_) {
    if (!counts) continue;
    instance_.cycles += cycles_[next_cycles_].count;
    if (detail_) costs_.Of(top()).cycles += cycles_[next_cycles_].count;
  }
  if (next_cycles_ != cycles_.size()) return;
  cycles_.clear();
  next_cycles_ = 0;
}

void InstanceTeller::NoteCycles(uint64_t behind, uint64_t cycles) {
  if (next_cycles_ >= kManyCycles) {
    cycles_.erase(cycles_.begin(), cycles_.begin() + static_cast<ptrdiff_t>(next_cycles_));
    next_cycles_ = 0;
  }
  cycles_.push_back({behind, cycles});
}

// The last of them may belong to a call through a stub that has not come yet.
void InstanceTeller::Pass(uint64_t position) {
  constexpr size_t kOfStub = 64;
  if (!open_) return TakeCycles(position, false);
  if (cycles_.size() - next_cycles_ <= kManyCycles) return;
  TakeCycles(std::min(position, cycles_[cycles_.size() - kOfStub].behind), on_ == own_);
}

void InstanceTeller::Give(TimeClass kind, uint64_t time) {
  instance_.times[static_cast<size_t>(kind)] += time;
  if (!detail_) return;
  uint32_t node = top();
  if (kind == TimeClass::kLost || kind == TimeClass::kUndecodable)
    node = plan_.paths.Find({.parent = PathTree::kRoot, .kind = PathKind::kLost});
  else if (on_ != own_)
    node = plan_.paths.Find({.parent = PathTree::kRoot, .kind = PathKind::kOtherStack});
  else if (kind != TimeClass::kExecuting)
    node = gap_node_ != PathTree::kRoot ? gap_node_ : InterruptedNode();
  costs_.Of(node).times[static_cast<size_t>(kind)] += time;
}

void InstanceTeller::OnLost(uint64_t bytes, bool keeps_place) {
  if (!open_) return;
  instance_.lost_bytes += bytes;
  // The calls of this stack are left because of the loss; those of another one are not reported.
  if (!keeps_place && on_ != own_) Close(position_, {}, InstanceState::kLost);
}

void InstanceTeller::Finish(uint64_t position) {
  if (open_) Close(position, {}, InstanceState::kCutByEnd);
}

}  // namespace flowback
