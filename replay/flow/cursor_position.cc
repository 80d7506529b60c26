// SPDX-License-Identifier: MIT
#include "replay/flow/cursor_position.h"

#include <algorithm>

namespace flowback {

uint64_t CursorPosition::tsc() const {
  switch (kind_) {
    case Kind::kInstruction:
      return instruction_.tsc;
    case Kind::kEvent:
      return event().tsc;
    case Kind::kLoss:
      return loss().tsc;
    case Kind::kUnknown:
      return unknown().tsc;
    case Kind::kEnd:
      return 0;
  }
  return 0;
}

CursorPosition::Place CursorPosition::place() const {
  return {share_, item_, at_instruction() ? runs_.first(run_) + within_ : 0};
}

void CursorPosition::Return(const Place& place) {
  if (place.share >= thread_.shares.size()) return ToEnd();
  EnterShare(place.share);
  if (place.item >= segment_->size()) return EnterItem(0, 0);
  const uint64_t count = segment_->InstructionsOf(place.item);
  EnterItem(place.item, std::min(place.within, count == 0 ? 0 : count - 1));
}

void CursorPosition::ToBegin() {
  if (thread_.shares.empty()) return ToEnd();
  EnterShare(0);
  EnterItem(0, 0);
}

void CursorPosition::ToEnd() {
  share_ = thread_.shares.size();
  segment_ = nullptr;
  number_ = thread_.instructions;
  kind_ = Kind::kEnd;
}

void CursorPosition::ToInstruction(uint64_t number) {
  if (number >= thread_.instructions) return ToEnd();
  // Among shares that begin with it, those without instructions come first.
  const auto behind = std::ranges::upper_bound(thread_.shares, number, {}, &FlowShare::first);
  EnterShare(static_cast<size_t>(behind - thread_.shares.begin()) - 1);
  EnterInstruction(number - thread_.shares[share_].first);
}

// The share at hand has it as long as the code is what it was at the first pass.
void CursorPosition::EnterInstruction(uint64_t within) {
  if (segment_->instructions() == 0) return EnterItem(0, 0);
  within = std::min(within, segment_->instructions() - 1);
  const size_t item = segment_->ItemOf(within);
  EnterItem(item, within - (*segment_)[item].first);
}

void CursorPosition::EnterShare(size_t share) {
  share_ = share;
  segment_ = &cache_.At(share);
}

void CursorPosition::EnterItem(size_t item, uint64_t within) {
  item_ = item;
  switch ((*segment_)[item].kind) {
    case FlowSegment::Kind::kEvent:
      kind_ = Kind::kEvent;
      break;
    case FlowSegment::Kind::kLoss:
      kind_ = Kind::kLoss;
      break;
    case FlowSegment::Kind::kUnknown:
      kind_ = Kind::kUnknown;
      break;
    default:
      kind_ = Kind::kInstruction;
      runs_.Fill(*segment_, item);
      return EnterRun(runs_.Find(within), within - runs_.first(runs_.Find(within)));
  }
  number_ = FirstOfItem();
}

void CursorPosition::EnterLastOf(size_t item) {
  const uint64_t count = segment_->InstructionsOf(item);
  EnterItem(item, count == 0 ? 0 : count - 1);
}

void CursorPosition::EnterRun(size_t run, uint64_t within) {
  run_ = run;
  address_ = runs_[run].address;
  for (uint64_t i = 0; i < within; ++i) address_ += runs_[run].lengths[i];
  within_ = within;
  Show();
}

void CursorPosition::Show() {
  const BlockRun& run = runs_[run_];
  const bool last = within_ + 1 == run.lengths.size();
  number_ = FirstOfItem() + runs_.first(run_) + within_;
  instruction_ = {.address = address_,
                  .length = run.lengths[within_],
                  .next = last ? run.next : address_ + run.lengths[within_],
                  .tsc = run.TscOf(within_),
                  .bounds = run.BoundsOf(within_),
                  .first_of_run = within_ == 0,
                  .last_of_run = last,
                  .exit = run.exit,
                  .last = run.last,
                  .mode = run.mode,
                  .in_transaction = run.in_transaction,
                  .branch = last ? run.branch : BranchFacts{},
                  .cycles = last ? run.cycles : CycleMark{},
                  .space = run.space,
                  .stay = run.stay};
}

bool CursorPosition::NextItem() {
  if (item_ + 1 < segment_->size()) {
    EnterItem(item_ + 1, 0);
    return true;
  }
  if (share_ + 1 == thread_.shares.size()) {
    ToEnd();
    return false;
  }
  EnterShare(share_ + 1);
  EnterItem(0, 0);
  return true;
}

bool CursorPosition::PreviousItem() {
  if (segment_ != nullptr && item_ != 0) {
    EnterLastOf(item_ - 1);
    return true;
  }
  if (share_ == 0) return false;
  EnterShare(share_ - 1);
  EnterLastOf(segment_->size() - 1);
  return true;
}

bool CursorPosition::Next() {
  if (at_end()) return false;
  if (!at_instruction()) return NextItem();
  const BlockRun& run = runs_[run_];
  if (within_ + 1 == run.lengths.size()) return NextRun();
  address_ += run.lengths[within_++];
  Show();
  return true;
}

bool CursorPosition::Previous() {
  if (!at_instruction()) return PreviousItem();
  if (within_ != 0) {
    address_ -= runs_[run_].lengths[--within_];
    Show();
    return true;
  }
  if (run_ == 0) return PreviousItem();
  EnterLastOfRun(run_ - 1);
  return true;
}

bool CursorPosition::NextRun() {
  if (at_end()) return false;
  if (at_instruction() && run_ + 1 < runs_.size()) {
    EnterRun(run_ + 1, 0);
    return true;
  }
  return NextItem();
}

// To the first element of the run at hand, or, from there, of the run before it.
bool CursorPosition::PreviousRun() {
  if (at_instruction() && (within_ != 0 || run_ != 0)) {
    EnterRun(within_ != 0 ? run_ : run_ - 1, 0);
    return true;
  }
  if (!PreviousItem()) return false;
  if (at_instruction()) EnterRun(run_, 0);
  return true;
}

}  // namespace flowback
