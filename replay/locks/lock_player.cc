// SPDX-License-Identifier: MIT
#include "replay/locks/lock_player.h"

#include <utility>

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
  sink_.OnCalls(static_cast<uint32_t>(number), teller_->TakeCalls());
  sink_.OnThreadEnd(static_cast<uint32_t>(number), finder_->position());
  stack_.reset();
  teller_.reset();
}

// The search goes ahead: the calls are those in which the spinning began.
void LockPlayer::OnBlock(const BlockRun& run) {
  if (cycles_) cycles_->Add(finder_->position() + run.lengths.size(), run.cycles);
  finder_->OnBlock(run);
  TellBegun();
  stack_->OnBlock(run);
  TellEnded();
}

void LockPlayer::OnBlocks(const BlockBatch& batch) {
  if (cycles_)
    for (const TimedPart& part : batch.times)
      cycles_->Add(finder_->position() + part.end, part.cycles);
  finder_->OnBlocks(batch);
  TellBegun();
  stack_->OnBlocks(batch);
  TellEnded();
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
  if (cycles_) cycles_->Add(finder_->position(), event.cycles);
  if (event.kind == EventKind::kLockAddress)
    return finder_->uses().OnAddress(event.value, event.extra != 0);
  teller_->NoteStop({.position = finder_->position(),
                     .quiet_since = finder_->quiet_since(),
                     .last_atomic = finder_->last_atomic(),
                     .call = finder_->call()});
  if (event.kind == EventKind::kStarted) teller_->NoteStart(event.bounds);
  stack_->OnEvent(event);
}

void LockPlayer::OnLoss(const DataLoss& loss) {
  losses_.Add(loss);
  if (!KeepsPlace(loss.cause)) finder_->OnLoss(loss);
  TellBegun();
  stack_->OnLoss(loss);
  TellEnded();
}

}  // namespace flowback
