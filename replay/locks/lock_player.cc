// SPDX-License-Identifier: MIT
#include "replay/locks/lock_player.h"

#include <utility>

#include "replay/calls/shadow_stack/stack_leap.h"

namespace flowback {

LockPlayer::LockPlayer(const WaitPlan& plan, LockSink& sink, const TimelineSources& sources,
                       std::vector<const TimeAccount*> accounts)
    : plan_(plan),
      sink_(sink),
      sources_(sources),
      accounts_(std::move(accounts)),
      clock_(sources.recording) {}

void LockPlayer::OnThreadBegin(const ThreadFlow& thread, size_t number) {
  stack_.reset();
  part_ = Part::kAll;
  stopped_ = false;
  next_ = 0;
  left_to_.reset();
  sink_.OnThread(static_cast<uint32_t>(number));
  finder_.emplace(blocks_, loops_);
  // The emulator's are ticks of its clock.
  cycles_.reset();
  cycles_of_stretch_.clear();
  if (!sources_.recording.machine.emulated) cycles_.emplace();
  teller_.emplace(plan_, static_cast<uint32_t>(number), accounts_[number]);
  execs_.emplace(sources_.recording, clock_, thread.pid);
  stack_.emplace(sources_.functions, *teller_);
  teller_->Follow(*stack_);
  stack_->LookForExec(execs_->AsFunction());
  stack_->LookForPauses(sources_.recording.machine);
}

void LockPlayer::OnThreadEnd(const ThreadFlow&, size_t number) {
  finder_->Finish();
  TellBegun();
  stack_->Finish();
  TellEnded();
  teller_->Finish();
  misses_calls_ = misses_calls_ || teller_->misses_calls();
  sink_.OnCalls(static_cast<uint32_t>(number), teller_->TakeCalls());
  sink_.OnThreadEnd(static_cast<uint32_t>(number), finder_->position());
  stack_.reset();
  teller_.reset();
}

// The search goes ahead: the calls are those in which the spinning began.
void LockPlayer::OnBlock(const BlockRun& run) {
  if (part_ != Part::kCalls) {
    if (cycles_) cycles_->Add(finder_->position() + run.lengths.size(), run.cycles);
    finder_->OnBlock(run);
  }
  if (part_ == Part::kSearch) return;
  if (left_to_) BeginAnew(run.space, run.address);
  TellBegun();
  stack_->OnBlock(run);
  stopped_ = run.exit == BlockExit::kStopped;
  next_ = run.next;
  TellEnded();
}

void LockPlayer::OnBlocks(const BlockBatch& batch) {
  if (part_ != Part::kCalls) {
    if (cycles_)
      for (const TimedPart& part : batch.times)
        cycles_->Add(finder_->position() + part.end, part.cycles);
    finder_->OnBlocks(batch);
  }
  if (part_ == Part::kSearch) return;
  if (left_to_ && !batch.steps.empty()) {
    const CodeBlock& first = (*batch.table)[batch.steps.front().number()];
    BeginAnew(&batch.table->space(), first.address);
  }
  TellBegun();
  stack_->OnBlocks(batch);
  stopped_ = false;
  next_ = batch.next;
  TellEnded();
}

bool LockPlayer::Leap(const StackLeap& leap) {
  if (!StackLeaper::Leap(*stack_, leap)) return false;
  teller_->Leap(leap.keep);
  return true;
}

bool LockPlayer::LeaveCalls(uint64_t instructions) {
  if (!StackLeaper::MayLeap(*stack_)) return false;
  left_to_ = stack_->instructions() + instructions;
  return true;
}

void LockPlayer::BeginAnew(const AddressSpace* space, uint64_t address) {
  teller_->BeginAnew();
  StackLeaper::BeginAnew(*stack_, space, address, *left_to_);
  left_to_.reset();
}

void LockPlayer::TellBegun() {
  teller_->NoteUses(finder_->uses().Take());
  const std::vector<SpinStretch> begun = finder_->TakeBegun();
  if (cycles_)
    for (const SpinStretch& stretch : begun)
      cycles_of_stretch_[stretch.number] = cycles_->UpTo(stretch.begin_position);
  teller_->Begin(begun);
}

void LockPlayer::TellEnded() {
  std::vector<SpinStretch> ended = finder_->TakeEnded();
  if (cycles_) {
    for (SpinStretch& stretch : ended) {
      const auto begin = cycles_of_stretch_.extract(stretch.number);
      if (!begin.empty()) stretch.cycles = cycles_->UpTo(stretch.end_position) - begin.mapped();
    }
    cycles_->ForgetOld();
  }
  teller_->End(ended);
}

void LockPlayer::OnEvent(const TraceEvent& event) {
  if (part_ != Part::kCalls) {
    if (cycles_) cycles_->Add(finder_->position(), event.cycles);
    if (event.kind == EventKind::kLockAddress)
      return finder_->uses().OnAddress(event.value, event.extra != 0);
  }
  if (part_ == Part::kSearch) return;
  if (left_to_) return;  // no call is known yet in which it happened
  if (event.kind == EventKind::kStoppedAsync) {
    stopped_ = true;
    next_ = event.ip;
  }
  if (part_ == Part::kAll)
    teller_->NoteStop({.position = finder_->position(),
                       .quiet_since = finder_->quiet_since(),
                       .last_atomic = finder_->last_atomic(),
                       .call = finder_->call()});
  if (event.kind == EventKind::kStarted) teller_->NoteStart(event.bounds);
  stack_->OnEvent(event);
}

void LockPlayer::OnLoss(const DataLoss& loss) {
  losses_.Add(loss);
  if (!KeepsPlace(loss.cause)) next_ = 0;
  if (!KeepsPlace(loss.cause)) finder_->OnLoss(loss);
  TellBegun();
  stack_->OnLoss(loss);
  TellEnded();
}

}  // namespace flowback
