// SPDX-License-Identifier: MIT
#include "replay/debug/machine/machine.h"

#include <algorithm>
#include <utility>

namespace flowback {
namespace {

using Reason = MachineStop::Reason;

std::vector<size_t> WithInstructions(const FlowIndex& index, const std::vector<size_t>& threads) {
  std::vector<size_t> kept;
  for (const size_t thread : threads)
    if (index.threads()[thread].instructions != 0) kept.push_back(thread);
  return kept;
}

Reason ReasonOf(FoundStop::Kind kind) {
  switch (kind) {
    case FoundStop::Kind::kLoss:
      return Reason::kLoss;
    case FoundStop::Kind::kUnknown:
      return Reason::kUnknown;
    case FoundStop::Kind::kEvent:
      return Reason::kEvent;
    case FoundStop::Kind::kInterrupted:
      return Reason::kInterrupted;
    default:
      return Reason::kAddress;
  }
}

MachineStop StopOf(size_t thread, FoundStop found) {
  return {.reason = ReasonOf(found.kind),
          .thread = thread,
          .loss = std::move(found.loss),
          .event = std::move(found.event),
          .call = found.call,
          .unknown = found.kind == FoundStop::Kind::kUnknown};
}

MachineStop StopOf(size_t thread, Reason reason, Passed passed) {
  return {.reason = reason,
          .thread = thread,
          .loss = std::move(passed.loss),
          .event = std::move(passed.event),
          .unknown = passed.unknown};
}

// A step that comes to a system call stops there, as a run does.
void NoteCall(ThreadWalk& walk, const StopMarks& marks, MachineStop& stop) {
  if (!marks.calls) return;
  const FoundStop found = StopAtHand(walk, {.calls = marks.calls});
  if (found.kind == FoundStop::Kind::kNone) return;
  stop.reason = Reason::kAddress;
  stop.call = found.call;
}

MachineStop EndOf(size_t thread, Direction direction, Passed passed) {
  MachineStop stop = StopOf(
      thread, direction == Direction::kForward ? Reason::kEnd : Reason::kBegin, std::move(passed));
  stop.of_thread = true;
  return stop;
}

}  // namespace

Reason ReasonOf(const MachineStop& step, const StopMarks& marks) {
  if (step.reason != Reason::kStep) return step.reason;
  if (marks.losses && step.loss) return Reason::kLoss;
  return marks.unknown && step.unknown ? Reason::kUnknown : Reason::kStep;
}

ReplayedMachine::ReplayedMachine(FlowIndex& index, const std::vector<size_t>& threads)
    : threads_(index, WithInstructions(index, threads)) {
  if (size() != 0) ToBegin(0);
}

MachineThread ReplayedMachine::At(size_t thread) {
  const MachineThreads::At at = threads_.Settle(thread, moment_);
  const ThreadWalk& walk = at.walk;
  MachineThread told{.pc = walk.pc(),
                     .number = walk.number(),
                     .tsc = walk.tsc(),
                     .never_executed = walk.at_end(),
                     .instruction = walk.instruction()};
  told.tid = walk.thread().tid;
  told.is_end = IsEnd(thread, walk);
  const std::vector<FlowShare>& shares = walk.thread().shares;
  told.cpu = shares[std::min(walk.place().share, shares.size() - 1)].stream->cpu;
  if (at.ended)
    told.state = ThreadState::kEnded;
  else if (walk.number() == 0 && !walk.at_end() && thread != moment_.thread)
    told.state = ThreadState::kNotBegun;
  return told;
}

std::optional<uint64_t> ReplayedMachine::EndAddressOf(size_t thread) {
  ThreadWalk& walk = threads_.Walk(thread);
  walk.ToLast();
  return walk.at_end() ? std::optional(walk.pc()) : std::nullopt;
}

bool ReplayedMachine::IsEnd(size_t thread, const ThreadWalk& walk) const {
  if (!walk.at_end()) return false;
  for (size_t other = 0; other < size(); ++other)
    for (const FlowShare& share : threads_.thread(other).shares)
      if (other != thread &&
          std::pair(share.last_tsc + 1, other) > std::pair(moment_.order, thread))
        return false;
  return true;
}

void ReplayedMachine::ToBegin(size_t thread) {
  ThreadWalk& walk = threads_.Walk(thread);
  walk.ToFirst();
  moment_ = {.order = 0, .thread = thread, .place = walk.place()};
  others_from_.reset();
}

void ReplayedMachine::ToEnd(size_t thread) {
  ThreadWalk& walk = threads_.Walk(thread);
  walk.ToLast();
  moment_ = {.order = UINT64_MAX, .thread = thread, .place = walk.place()};
  others_from_.reset();
}

void ReplayedMachine::ToTime(uint64_t tsc) {
  std::optional<MachineMoment> first;
  for (size_t i = 0; i < size(); ++i) {
    const size_t thread = (current() + i) % size();
    ThreadWalk& walk = threads_.Walk(thread);
    if (!walk.ToTime(tsc)) continue;
    const MachineMoment moment = threads_.MomentOf(thread, walk);
    if (!first || moment.order < first->order) first = moment;
  }
  if (!first) return ToEnd();
  moment_ = *first;
  others_from_.reset();
}

bool ReplayedMachine::ToInstruction(size_t thread, uint64_t number) {
  ThreadWalk& walk = threads_.Walk(thread);
  if (!walk.ToInstruction(number)) return false;
  moment_ = threads_.MomentOf(thread, walk);
  others_from_.reset();
  return true;
}

// Going back, the others have not come further than they stand.
const MachineMoment& ReplayedMachine::From(size_t thread, Direction direction) const {
  if (!others_from_ || thread == moment_.thread) return moment_;
  const bool is_before = *others_from_ < moment_;
  return is_before == (direction == Direction::kForward) ? *others_from_ : moment_;
}

std::optional<ReplayedMachine::Nearest> ReplayedMachine::FindOf(
    size_t thread, Direction direction, const StopMarks& marks,
    const std::optional<MachineMoment>& limit, const KeepOn& keep_on, bool& interrupted) {
  const MachineMoment& from = From(thread, direction);
  const auto [walk, ended] = threads_.Settle(thread, from);
  const bool is_its_own = thread == from.thread;
  if (direction == Direction::kForward && ended) return std::nullopt;
  FoundStop found;
  // The place at hand lies behind the moment of another thread, unless the thread had ended.
  const bool counts = !is_its_own && ended == (direction == Direction::kBackward);
  if (counts) found = StopAtHand(walk, marks);
  if (found.kind == FoundStop::Kind::kNone && direction == Direction::kForward) {
    const uint64_t last = limit ? limit->order - 1 : UINT64_MAX;
    found = ToNextStop(walk, threads_.index(), marks, last, keep_on);
  } else if (found.kind == FoundStop::Kind::kNone) {
    const uint64_t first = limit && limit->order != 0 ? limit->order - 1 : 0;
    found = ToPreviousStop(walk, threads_.index(), marks, first, keep_on);
  }
  interrupted = interrupted || found.kind == FoundStop::Kind::kInterrupted;
  if (found.kind == FoundStop::Kind::kNone || interrupted) return std::nullopt;
  return Nearest{Placed(thread, direction, walk), StopOf(thread, std::move(found))};
}

// Where the walk stands, as a moment. A thread's own order counts where its times are not certain
// to.
MachineMoment ReplayedMachine::Placed(size_t thread, Direction direction,
                                      const ThreadWalk& walk) const {
  const MachineMoment& from = From(thread, direction);
  MachineMoment moment = threads_.MomentOf(thread, walk);
  if (thread == from.thread && direction == Direction::kForward)
    moment.order = std::max(moment.order, from.order);
  if (thread == from.thread && direction == Direction::kBackward)
    moment.order = std::min(moment.order, from.order);
  return moment;
}

// Only a process' first thread is left when it becomes another program.
const std::vector<Milestone>& ReplayedMachine::Milestones(size_t thread, const StopMarks& marks) {
  static const std::vector<Milestone> none;
  const IndexedThread& of = threads_.thread(thread);
  const bool is_first = of.tid == of.pid && of.tid != -1;
  const bool of_programs_only = marks.milestones == std::vector{MilestoneKind::kProgram};
  if (marks.milestones.empty() || (of_programs_only && !is_first)) return none;
  const auto [at, is_new] = milestones_.try_emplace(thread);
  if (is_new) at->second = MilestonesOf(threads_.Walk(thread));
  return at->second;
}

std::optional<ReplayedMachine::Nearest> ReplayedMachine::MilestoneOf(size_t thread,
                                                                     Direction direction,
                                                                     const StopMarks& marks) {
  const std::vector<Milestone>& milestones = Milestones(thread, marks);
  if (milestones.empty()) return std::nullopt;
  const MachineMoment& from = From(thread, direction);
  const auto [walk, ended] = threads_.Settle(thread, from);
  if (direction == Direction::kForward && ended) return std::nullopt;
  const bool counts = thread != from.thread && ended == (direction == Direction::kBackward);
  const auto nearest = NearestMilestone(milestones, direction, marks, walk.number(), counts);
  if (!nearest) return std::nullopt;
  walk.ToInstruction(nearest->number);
  return Nearest{Placed(thread, direction, walk),
                 {.reason = Reason::kMilestone, .thread = thread, .milestone = nearest->kind}};
}

// A step from the place of that number leads to a milestone, or over one.
void ReplayedMachine::NoteMilestone(size_t thread, Direction direction, const StopMarks& marks,
                                    uint64_t from, MachineStop& stop) {
  const auto nearest = NearestMilestone(Milestones(thread, marks), direction, marks, from, false);
  if (stop.reason != Reason::kStep || !nearest) return;
  if (nearest->number != threads_.Walk(thread).number()) return;
  stop.reason = Reason::kMilestone;
  stop.milestone = nearest->kind;
}

std::optional<ReplayedMachine::Nearest> ReplayedMachine::Find(Direction direction,
                                                              const StopMarks& marks,
                                                              const Bounds& bounds,
                                                              const KeepOn& keep_on,
                                                              bool& interrupted) {
  std::optional<Nearest> nearest;
  std::optional<MachineMoment> limit = bounds.limit;
  if (marks.empty()) return nearest;
  for (size_t i = 0; i < size() && !interrupted; ++i) {
    // The current thread first: what it comes to bounds the search in the others.
    const size_t thread = (current() + i) % size();
    if ((bounds.only && thread != *bounds.only) || (bounds.but && thread == *bounds.but)) continue;
    const auto take = [&](std::optional<Nearest> found) {
      if (!found) return;
      const bool is_nearer = direction == Direction::kForward ? !limit || found->moment < *limit
                                                              : !limit || *limit < found->moment;
      if (!is_nearer) return;
      limit = found->moment;
      nearest = std::move(found);
    };
    take(MilestoneOf(thread, direction, marks));
    if (!marks.no_search()) take(FindOf(thread, direction, marks, limit, keep_on, interrupted));
  }
  if (interrupted) nearest.reset();
  return nearest;
}

MachineStop ReplayedMachine::Continue(Direction direction, const StopMarks& marks,
                                      std::optional<size_t> only, const KeepOn& keep_on) {
  bool interrupted = false;
  const size_t mover = only.value_or(current());
  const auto nearest = Find(direction, marks, {.only = only}, keep_on, interrupted);
  if (interrupted) return {.reason = Reason::kInterrupted, .thread = mover};
  if (nearest) {
    moment_ = nearest->moment;
    others_from_.reset();
    return nearest->stop;
  }
  if (only) return RunToEndOf(*only, direction);
  if (direction == Direction::kForward)
    ToEnd(mover);
  else
    ToBegin(mover);
  return {.reason = direction == Direction::kForward ? Reason::kEnd : Reason::kBegin,
          .thread = mover};
}

MachineMoment ReplayedMachine::Towards(size_t thread, Direction direction) {
  MachineMoment moment = threads_.MomentOf(thread, threads_.Walk(thread));
  if (direction == Direction::kForward)
    moment.order = std::max(moment.order, moment_.order);
  else
    moment.order = std::min(moment.order, moment_.order);
  return moment;
}

// Whether the moment, which is another thread's, lies behind all of the thread, or before all of
// it. Then the thread cannot move, so the moment stays.
bool ReplayedMachine::IsOver(const MachineThreads::At& at, size_t thread,
                             Direction direction) const {
  if (thread == moment_.thread) return false;
  return direction == Direction::kForward ? at.ended : at.walk.number() == 0;
}

MachineStop ReplayedMachine::RunToEndOf(size_t thread, Direction direction) {
  const MachineThreads::At at = threads_.Settle(thread, moment_);
  if (!IsOver(at, thread, direction)) {
    if (direction == Direction::kForward)
      at.walk.ToLast();
    else
      at.walk.ToFirst();
    moment_ = Towards(thread, direction);
    others_from_.reset();
  }
  return EndOf(thread, direction, {});
}

// The thread's walk stands at its new place. Others may come to a mark before it does.
MachineStop ReplayedMachine::Arrive(size_t thread, Direction direction, MachineStop stop,
                                    const StopMarks& marks, const KeepOn& keep_on, Others others) {
  const MachineMoment moment = Towards(thread, direction);
  bool interrupted = false;
  StopMarks of_others;
  if (others == Others::kMayStop) {
    of_others.addresses = marks.addresses;
    of_others.calls = marks.calls;
  }
  const auto nearest =
      Find(direction, of_others, {.limit = moment, .but = thread}, keep_on, interrupted);
  if (interrupted) return {.reason = Reason::kInterrupted, .thread = thread};
  if (nearest) {
    moment_ = nearest->moment;
    others_from_.reset();
    return nearest->stop;
  }
  if (!others_from_ || moment_.thread != thread) others_from_ = moment_;
  moment_ = moment;
  return stop;
}

MachineStop ReplayedMachine::Step(size_t thread, Direction direction, const StopMarks& marks,
                                  const KeepOn& keep_on, Others others) {
  Milestones(thread, marks);
  const MachineThreads::At at = threads_.Settle(thread, moment_);
  const bool is_over = IsOver(at, thread, direction);
  const uint64_t from = at.walk.number();
  Passed passed;
  const bool moved =
      direction == Direction::kForward ? at.walk.Next(&passed) : at.walk.Previous(&passed);
  if (!moved && is_over) return EndOf(thread, direction, std::move(passed));
  if (!moved)
    return Arrive(thread, direction, EndOf(thread, direction, std::move(passed)), marks, keep_on,
                  others);
  MachineStop stop = StopOf(thread, Reason::kStep, std::move(passed));
  NoteCall(at.walk, marks, stop);
  NoteMilestone(thread, direction, marks, from, stop);
  return Arrive(thread, direction, std::move(stop), marks, keep_on, others);
}

MachineStop ReplayedMachine::StepOut(size_t thread, const AddressRange& range,
                                     const StopMarks& marks, const KeepOn& keep_on, Others others) {
  constexpr uint64_t kStepsBetweenAsking = 4096;
  Milestones(thread, marks);
  const MachineThreads::At at = threads_.Settle(thread, moment_);
  const bool is_over = IsOver(at, thread, Direction::kForward);
  const auto arrive = [&](MachineStop stop) {
    return Arrive(thread, Direction::kForward, std::move(stop), marks, keep_on, others);
  };
  for (uint64_t steps = 1;; ++steps) {
    if (steps % kStepsBetweenAsking == 0 && !keep_on())
      return {.reason = Reason::kInterrupted, .thread = thread};
    Passed passed;
    const uint64_t from = at.walk.number();
    if (!at.walk.Next(&passed)) {
      MachineStop end = EndOf(thread, Direction::kForward, std::move(passed));
      return is_over ? end : arrive(std::move(end));
    }
    MachineStop stop = StopOf(thread, Reason::kStep, std::move(passed));
    NoteCall(at.walk, marks, stop);
    NoteMilestone(thread, Direction::kForward, marks, from, stop);
    if (marks.HasAddress(at.walk.pc()))
      stop.reason = Reason::kAddress;
    else
      stop.reason = ReasonOf(stop, marks);
    if (stop.reason == Reason::kStep && range.Contains(at.walk.pc())) continue;
    return arrive(std::move(stop));
  }
}

}  // namespace flowback
