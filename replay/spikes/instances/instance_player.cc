// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/instance_player.h"

#include <algorithm>
#include <utility>

namespace flowback {

InstancePlayer::InstancePlayer(const InstancePlan& plan, const TimelineSources& sources,
                               std::vector<const TimeAccount*> accounts, const RegionPlaces* places,
                               BranchTable& branches, BranchSink& sink)
    : plan_(plan),
      sources_(sources),
      accounts_(std::move(accounts)),
      places_(places),
      branches_(branches),
      sink_(sink),
      clock_(sources.recording) {}

void InstancePlayer::OnThreadBegin(const ThreadFlow& thread, size_t number) {
  stack_.reset();
  Instance of_thread;
  of_thread.thread = static_cast<uint32_t>(number);
  of_thread.tid = thread.tid;
  teller_.emplace(plan_, accounts_[number], of_thread, next_);
  execs_.emplace(sources_.recording, clock_, thread.pid);
  if (plan_.regions != nullptr) {
    relay_.emplace(*plan_.regions, *teller_);
    stack_.emplace(sources_.functions, *relay_);
    relay_->ListensTo(*stack_);
  } else {
    stack_.emplace(sources_.functions, *teller_);
  }
  teller_->Follow(*stack_);
  stack_->LookForExec(execs_->AsFunction());
  stack_->LookForPauses(sources_.recording.machine);
  instructions_ = 0;
  pairs_ = plan_.pairs == nullptr ? nullptr : &plan_.pairs->by_thread[number];
  next_pair_ = 0;
  pair_open_ = false;
}

void InstancePlayer::OnThreadEnd(const ThreadFlow&, size_t) {
  stack_->Finish();
  teller_->Finish(instructions_);
  TakeMarks();
  PassUpTo(UINT64_MAX);
  next_ = teller_->next_number();
  overlapping_ += teller_->overlapping();
  stack_.reset();
  relay_.reset();
  teller_.reset();
}

void InstancePlayer::NoteCycles(uint64_t behind, const CycleMark& mark) {
  if (mark.since() == CycleMark::Since::kFlow) teller_->NoteCycles(behind, mark.cycles());
}

void InstancePlayer::OnBlock(const BlockRun& run) {
  if (plan_.counts_cycles) NoteCycles(instructions_ + run.lengths.size(), run.cycles);
  if (pairs_ != nullptr)
    MarkPairs(run);
  else if (places_ != nullptr)
    Mark(run);
  stack_->OnBlock(run);
  const uint64_t begin = instructions_;
  instructions_ += run.lengths.size();
  teller_->Pass(instructions_);
  TakeMarks();
  PassUpTo(begin);
  CountRun(run);
  PassUpTo(instructions_);
}

// The calls are those before the run: what begins within it begins in the innermost one.
void InstancePlayer::Mark(const BlockRun& run) {
  places_->ForEach(run, [&](const RegionPlaces::Place& place) {
    const uint64_t position = instructions_ + place.instruction;
    const ExitTime time{.tsc = run.TscOf(place.instruction),
                        .bounds = run.BoundsOf(place.instruction)};
    if (place.stops && teller_->is_open()) teller_->End(position, time);
    if (place.starts) teller_->Begin(position, time, stack_->calls());
  });
}

// One that a loss has ended is not begun again.
void InstancePlayer::MarkPairs(const BlockRun& run) {
  const uint64_t behind = instructions_ + run.lengths.size();
  const size_t last = run.lengths.size() - 1;
  while (next_pair_ < pairs_->size()) {
    const PairedRegion& pair = (*pairs_)[next_pair_];
    const bool was_cut = pair_open_ && !teller_->is_open();
    if (!pair_open_) {
      const uint64_t now = plan_.unit.Point(run.TscOf(last), run.BoundsOf(last)).time;
      if (pair.stop >= behind && now < pair.begin.time) return;
      // Not before the one ahead of it has ended, which may be in the same run.
      const uint64_t ended = next_pair_ == 0 ? 0 : (*pairs_)[next_pair_ - 1].stop;
      teller_->BeginPaired(std::max(instructions_, ended), pair.begin, stack_->calls());
      pair_open_ = true;
    }
    if (pair.stop >= behind) return;
    const auto place = static_cast<size_t>(pair.stop - instructions_);
    if (!was_cut) teller_->End(pair.stop, {.tsc = run.TscOf(place), .bounds = run.BoundsOf(place)});
    pair_open_ = false;
    ++next_pair_;
  }
}

void InstancePlayer::OnBlocks(const BlockBatch& batch) {
  if (places_ != nullptr || pairs_ != nullptr) {
    for (BlockRuns runs(batch); runs.Next();) OnBlock(runs.run());
    return;
  }
  const uint64_t begin = instructions_;
  if (plan_.counts_cycles)
    for (const TimedPart& part : batch.times) NoteCycles(begin + part.end, part.cycles);
  stack_->OnBlocks(batch);
  instructions_ += batch.instructions();
  teller_->Pass(instructions_);
  TakeMarks();
  if (counting_ || next_mark_ < marks_.size()) CountSteps(batch, begin);
}

[[gnu::always_inline]] inline void InstancePlayer::Count(uint32_t edge) {
  if (edge == BranchTable::kNoEdge) return;
  counts_.Add(edge);
  if (stepping_) stepping_ = sink_.OnStep(counted_, edge);
}

// A step belongs to the instance that is open where the step begins.
void InstancePlayer::CountSteps(const BlockBatch& batch, uint64_t begin) {
  const BlockTable& table = *batch.table;
  const size_t count = batch.steps.size();
  uint64_t position = begin;
  for (size_t i = 0; i < count;) {
    PassUpTo(position);
    const uint64_t until = next_mark_ < marks_.size() ? marks_[next_mark_].position : UINT64_MAX;
    for (; i < count && position < until; ++i) {
      if (counting_) Count(branches_.OfStep(batch, i));
      position += table[batch.steps[i].number()].count;
    }
  }
  PassUpTo(position);
}

void InstancePlayer::CountRun(const BlockRun& run) {
  if (counting_) Count(branches_.OfRun(run));
}

void InstancePlayer::TakeMarks() {
  std::vector<InstanceMark> marks = teller_->TakeMarks();
  if (next_mark_ == marks_.size()) {
    marks_ = std::move(marks);
    next_mark_ = 0;
  } else {
    marks_.insert(marks_.end(), marks.begin(), marks.end());
  }
}

void InstancePlayer::PassUpTo(uint64_t position) {
  while (next_mark_ < marks_.size() && marks_[next_mark_].position <= position)
    Pass(marks_[next_mark_++]);
}

void InstancePlayer::Pass(const InstanceMark& mark) {
  if (!mark.detail) return;
  counting_ = mark.begins;
  if (mark.switches) return;
  counted_ = mark.number;
  if (mark.begins) {
    stepping_ = sink_.WantsSteps(mark.number);
    return;
  }
  stepping_ = false;
  sink_.OnBranches(mark.number, counts_);
  counts_.Clear();
}

void InstancePlayer::OnEvent(const TraceEvent& event) {
  if (plan_.counts_cycles) NoteCycles(instructions_, event.cycles);
  stack_->OnEvent(event);
  TakeMarks();
}

void InstancePlayer::OnLoss(const DataLoss& loss) {
  losses_.Add(loss);
  teller_->OnLost(loss.bytes(), KeepsPlace(loss.cause));
  stack_->OnLoss(loss);
  TakeMarks();
}

}  // namespace flowback
