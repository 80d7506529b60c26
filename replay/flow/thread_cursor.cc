// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_cursor.h"

#include <algorithm>

#include "replay/flow/segment_cache.h"

namespace flowback {
// The place: an element of an item of a share. Behind the last element the share is that behind the
// last one.
class ThreadCursor::Impl {
 public:
  Impl(FlowIndex& index, const IndexedThread& thread, Start start)
      : index_(index), thread_(thread), cache_(index, thread) {
    start == Start::kBegin ? ToBegin() : ToEnd();
  }

  Kind kind() const { return kind_; }
  uint64_t number() const { return number_; }
  const CursorInstruction& instruction() const { return instruction_; }
  const TraceEvent& event() const { return segment_->Event(item_); }
  const DataLoss& loss() const { return segment_->Loss(item_); }
  const UnknownFlow& unknown() const { return segment_->Unknown(item_); }

  void ToBegin() {
    if (thread_.shares.empty()) return ToEnd();
    EnterShare(0);
    EnterItem(0, 0);
  }
  void ToEnd() {
    share_ = thread_.shares.size();
    segment_ = nullptr;
    number_ = thread_.instructions;
    kind_ = Kind::kEnd;
  }
  void ToInstruction(uint64_t number) {
    if (number >= thread_.instructions) return ToEnd();
    // Of shares that begin with it, those without instructions come first.
    const auto behind = std::ranges::upper_bound(thread_.shares, number, {}, &FlowShare::first);
    EnterShare(static_cast<size_t>(behind - thread_.shares.begin()) - 1);
    EnterInstruction(number - thread_.shares[share_].first);
  }
  void ToTime(uint64_t tsc);
  uint64_t tsc() const;

  bool Next();
  bool Previous();
  bool NextRun();
  bool PreviousRun();
  bool NextOther(Kind kind);
  bool PreviousOther(Kind kind);
  bool NextBranch();
  bool PreviousBranch();
  bool NextAt(uint64_t address);
  bool PreviousAt(uint64_t address);

  Place place() const {
    return {share_, item_, kind_ == Kind::kInstruction ? runs_.first(run_) + within_ : 0};
  }
  void Return(const Place& place) {
    if (place.share >= thread_.shares.size()) return ToEnd();
    EnterShare(place.share);
    if (place.item >= segment_->size()) return EnterItem(0, 0);
    const uint64_t count = segment_->InstructionsOf(place.item);
    EnterItem(place.item, std::min(place.within, count == 0 ? 0 : count - 1));
  }

 private:
  // The first of the segment's items from `begin` on, or the last one before `end`, that `is`;
  // `none` where none is.
  template <class Is>
  size_t FirstItem(size_t begin, Is is) const {
    for (size_t item = begin; item < segment_->size(); ++item)
      if (is(item)) return item;
    return kNoItem;
  }
  template <class Is>
  size_t LastItem(size_t end, Is is) const {
    while (end-- != 0)
      if (is(end)) return end;
    return kNoItem;
  }
  // How far the search has come in the share at hand: all of it, where the cursor is at the end.
  size_t ItemsBefore() const { return kind_ == Kind::kEnd ? 0 : item_; }
  bool HasKind(size_t item, Kind kind) const {
    return (*segment_)[item].kind ==
           (kind == Kind::kEvent ? FlowSegment::Kind::kEvent : FlowSegment::Kind::kLoss);
  }
  static bool HasAny(const FlowShare& share, Kind kind) {
    return (kind == Kind::kEvent ? share.events : share.losses) != 0;
  }
  bool ItemMayHave(size_t item, uint64_t address) const;
  bool FirstIn(size_t item, uint64_t address);
  bool LastIn(size_t item, uint64_t address);
  bool StandAt(uint64_t address, uint64_t begin, uint64_t end);
  // Of the share at hand, which has it as long as the code is what it was at the first pass.
  void EnterInstruction(uint64_t within) {
    if (segment_->instructions() == 0) return EnterItem(0, 0);
    within = std::min(within, segment_->instructions() - 1);
    const size_t item = segment_->ItemOf(within);
    EnterItem(item, within - (*segment_)[item].first);
  }
  uint64_t FirstOfItem() const { return thread_.shares[share_].first + (*segment_)[item_].first; }
  void EnterShare(size_t share) {
    share_ = share;
    segment_ = &cache_.At(share);
  }
  // `within`: of the item's instructions.
  void EnterItem(size_t item, uint64_t within) {
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
  void EnterLastOf(size_t item) {
    const uint64_t count = segment_->InstructionsOf(item);
    EnterItem(item, count == 0 ? 0 : count - 1);
  }
  void EnterRun(size_t run, uint64_t within) {
    run_ = run;
    within_ = 0;
    address_ = runs_[run].address;
    for (uint64_t i = 0; i < within; ++i) address_ += runs_[run].lengths[i];
    within_ = within;
    Show();
  }
  void Show();
  bool NextItem();
  bool PreviousItem();

  static constexpr size_t kNoItem = SIZE_MAX;

  FlowIndex& index_;
  const IndexedThread& thread_;
  SegmentCache cache_;
  size_t share_ = 0;
  const FlowSegment* segment_ = nullptr;  // the share's
  size_t item_ = 0;                       // of the segment
  ItemRuns runs_;                         // the item's, if it is of instructions
  size_t run_ = 0;
  uint64_t within_ = 0;   // instructions of the run
  uint64_t address_ = 0;  // of the one at hand
  Kind kind_ = Kind::kEnd;
  uint64_t number_ = 0;
  CursorInstruction instruction_;
};

void ThreadCursor::Impl::Show() {
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
                  .space = run.space,
                  .stay = run.stay};
}

bool ThreadCursor::Impl::NextItem() {
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

bool ThreadCursor::Impl::PreviousItem() {
  if (segment_ != nullptr && item_ != 0) {
    EnterLastOf(item_ - 1);
    return true;
  }
  if (share_ == 0) return false;
  EnterShare(share_ - 1);
  EnterLastOf(segment_->size() - 1);
  return true;
}

bool ThreadCursor::Impl::Next() {
  if (kind_ == Kind::kEnd) return false;
  if (kind_ != Kind::kInstruction) return NextItem();
  const BlockRun& run = runs_[run_];
  if (within_ + 1 == run.lengths.size()) return NextRun();
  address_ += run.lengths[within_++];
  Show();
  return true;
}

bool ThreadCursor::Impl::NextRun() {
  if (kind_ == Kind::kEnd) return false;
  if (kind_ == Kind::kInstruction && run_ + 1 < runs_.size()) {
    EnterRun(run_ + 1, 0);
    return true;
  }
  return NextItem();
}

bool ThreadCursor::Impl::Previous() {
  if (kind_ != Kind::kInstruction) return PreviousItem();
  if (within_ != 0) {
    address_ -= runs_[run_].lengths[--within_];
    Show();
    return true;
  }
  if (run_ == 0) return PreviousItem();
  EnterRun(run_ - 1, runs_[run_ - 1].lengths.size() - 1);
  return true;
}

// To the first element of the run at hand, or of that before; elements that are no instructions are
// runs of their own.
bool ThreadCursor::Impl::PreviousRun() {
  if (kind_ == Kind::kInstruction && within_ != 0) {
    EnterRun(run_, 0);
    return true;
  }
  if (kind_ == Kind::kInstruction && run_ != 0) {
    EnterRun(run_ - 1, 0);
    return true;
  }
  if (!PreviousItem()) return false;
  if (kind_ == Kind::kInstruction) EnterRun(run_, 0);
  return true;
}

// In the run at hand, if that has it among its instructions [begin, end).
bool ThreadCursor::Impl::StandAt(uint64_t address, uint64_t begin, uint64_t end) {
  const BlockRun& run = runs_[run_];
  uint64_t at = run.address;
  for (uint64_t i = 0; i < end && at <= address; at += run.lengths[i++]) {
    if (at != address || i < begin) continue;
    EnterRun(run_, i);
    return true;
  }
  return false;
}

// Whether a block of the item holds it: so an item without it need not become block runs.
bool ThreadCursor::Impl::ItemMayHave(size_t item, uint64_t address) const {
  switch ((*segment_)[item].kind) {
    case FlowSegment::Kind::kBlock:
      return true;
    case FlowSegment::Kind::kBlocks: {
      const BlockBatch batch = segment_->Batch(item);
      return std::ranges::any_of(batch.steps, [&](BlockStep step) {
        const CodeBlock& block = (*batch.table)[step.number()];
        return address - block.address < block.size;
      });
    }
    default:
      return false;
  }
}

bool ThreadCursor::Impl::FirstIn(size_t item, uint64_t address) {
  EnterItem(item, 0);
  for (size_t run = 0; run < runs_.size(); ++run) {
    run_ = run;
    if (StandAt(address, 0, runs_[run].lengths.size())) return true;
  }
  return false;
}

bool ThreadCursor::Impl::LastIn(size_t item, uint64_t address) {
  EnterItem(item, 0);
  for (size_t run = runs_.size(); run-- != 0;) {
    run_ = run;
    if (StandAt(address, 0, runs_[run].lengths.size())) return true;
  }
  return false;
}

bool ThreadCursor::Impl::NextAt(uint64_t address) {
  if (kind_ == Kind::kEnd) return false;
  const Place start = place();
  // What is left of the item at hand.
  if (kind_ == Kind::kInstruction) {
    uint64_t begin = within_ + 1;
    for (size_t run = run_; run < runs_.size(); ++run, begin = 0) {
      run_ = run;
      if (StandAt(address, begin, runs_[run].lengths.size())) return true;
    }
  }
  const auto may_have = [&](size_t item) { return ItemMayHave(item, address); };
  for (size_t begin = item_ + 1;; begin = 0) {
    for (size_t item = FirstItem(begin, may_have); item != kNoItem;
         item = FirstItem(item + 1, may_have))
      if (FirstIn(item, address)) return true;
    size_t share = share_ + 1;
    while (share < thread_.shares.size() && !index_.MayExecute(thread_.shares[share], address))
      ++share;
    if (share == thread_.shares.size()) break;
    EnterShare(share);
  }
  Return(start);
  return false;
}

bool ThreadCursor::Impl::PreviousAt(uint64_t address) {
  const Place start = place();
  if (kind_ == Kind::kInstruction) {
    uint64_t end = within_;
    for (size_t run = run_ + 1; run-- != 0; end = run == 0 ? 0 : runs_[run - 1].lengths.size()) {
      run_ = run;
      if (StandAt(address, 0, end)) return true;
    }
  }
  const auto may_have = [&](size_t item) { return ItemMayHave(item, address); };
  for (size_t end = ItemsBefore();; end = segment_->size()) {
    for (size_t item = segment_ == nullptr ? kNoItem : LastItem(end, may_have); item != kNoItem;
         item = LastItem(item, may_have))
      if (LastIn(item, address)) return true;
    size_t share = share_;
    while (share != 0 && !index_.MayExecute(thread_.shares[share - 1], address)) --share;
    if (share == 0) break;
    EnterShare(share - 1);
  }
  Return(start);
  return false;
}

// To the next event or loss.
bool ThreadCursor::Impl::NextOther(Kind kind) {
  if (kind_ == Kind::kEnd) return false;
  const auto is_it = [&](size_t item) { return HasKind(item, kind); };
  for (size_t begin = item_ + 1;; begin = 0) {
    const size_t item = FirstItem(begin, is_it);
    if (item != kNoItem) {
      EnterItem(item, 0);
      return true;
    }
    size_t share = share_ + 1;
    while (share < thread_.shares.size() && !HasAny(thread_.shares[share], kind)) ++share;
    if (share == thread_.shares.size()) break;
    EnterShare(share);
  }
  ToEnd();
  return false;
}

bool ThreadCursor::Impl::PreviousOther(Kind kind) {
  const auto is_it = [&](size_t item) { return HasKind(item, kind); };
  for (size_t end = ItemsBefore();; end = segment_->size()) {
    const size_t item = segment_ == nullptr ? kNoItem : LastItem(end, is_it);
    if (item != kNoItem) {
      EnterItem(item, 0);
      return true;
    }
    size_t share = share_;
    while (share != 0 && !HasAny(thread_.shares[share - 1], kind)) --share;
    if (share == 0) break;
    EnterShare(share - 1);
  }
  ToBegin();
  return false;
}

// A run's last instruction is a branch unless the run was cut before one.
bool ThreadCursor::Impl::NextBranch() {
  while (Next()) {
    if (kind_ != Kind::kInstruction || runs_[run_].exit == BlockExit::kFallThrough) continue;
    EnterRun(run_, runs_[run_].lengths.size() - 1);
    return true;
  }
  return false;
}

bool ThreadCursor::Impl::PreviousBranch() {
  if (kind_ == Kind::kInstruction) EnterRun(run_, 0);
  while (Previous()) {
    if (kind_ != Kind::kInstruction) continue;
    if (runs_[run_].exit != BlockExit::kFallThrough) return true;  // it came to the run's end
    EnterRun(run_, 0);
  }
  return false;
}

uint64_t ThreadCursor::Impl::tsc() const {
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

void ThreadCursor::Impl::ToTime(uint64_t tsc) {
  const auto& shares = thread_.shares;
  // Times don't go back from share to share; one without any has that of those before it.
  const auto share = std::ranges::find_if(
      shares, [tsc](const FlowShare& at) { return at.last_tsc != 0 && at.last_tsc >= tsc; });
  if (share == shares.end()) return ToEnd();
  EnterShare(static_cast<size_t>(share - shares.begin()));
  size_t item = 0;
  while (item + 1 < segment_->size() && segment_->LastTsc(item) < tsc) ++item;
  EnterItem(item, 0);
  while (kind_ == Kind::kInstruction && runs_[run_].tsc < tsc && run_ + 1 < runs_.size())
    EnterRun(run_ + 1, 0);
  while (kind_ == Kind::kInstruction && instruction_.tsc < tsc && Next()) continue;
}

ThreadCursor::ThreadCursor(FlowIndex& index, const IndexedThread& thread, Start start)
    : impl_(std::make_unique<Impl>(index, thread, start)) {}
ThreadCursor::ThreadCursor(ThreadCursor&&) noexcept = default;
ThreadCursor& ThreadCursor::operator=(ThreadCursor&&) noexcept = default;
ThreadCursor::~ThreadCursor() = default;

ThreadCursor::Kind ThreadCursor::kind() const { return impl_->kind(); }
const CursorInstruction& ThreadCursor::instruction() const { return impl_->instruction(); }
const TraceEvent& ThreadCursor::event() const { return impl_->event(); }
const DataLoss& ThreadCursor::loss() const { return impl_->loss(); }
const UnknownFlow& ThreadCursor::unknown() const { return impl_->unknown(); }
uint64_t ThreadCursor::number() const { return impl_->number(); }
void ThreadCursor::ToBegin() { impl_->ToBegin(); }
void ThreadCursor::ToEnd() { impl_->ToEnd(); }
void ThreadCursor::ToInstruction(uint64_t number) { impl_->ToInstruction(number); }
void ThreadCursor::ToTime(uint64_t tsc) { impl_->ToTime(tsc); }
bool ThreadCursor::Next() { return impl_->Next(); }
bool ThreadCursor::Previous() { return impl_->Previous(); }

bool ThreadCursor::NextAt(uint64_t address) { return impl_->NextAt(address); }
bool ThreadCursor::PreviousAt(uint64_t address) { return impl_->PreviousAt(address); }

bool ThreadCursor::NextBranch() { return impl_->NextBranch(); }
bool ThreadCursor::PreviousBranch() { return impl_->PreviousBranch(); }
uint64_t ThreadCursor::tsc() const { return impl_->tsc(); }
ThreadCursor::Place ThreadCursor::place() const { return impl_->place(); }
void ThreadCursor::Return(const Place& place) { impl_->Return(place); }

bool ThreadCursor::Next(Kind kind) {
  if (kind == Kind::kEvent || kind == Kind::kLoss) return impl_->NextOther(kind);
  while (Next())
    if (impl_->kind() == kind) return true;
  return false;
}

bool ThreadCursor::Previous(Kind kind) {
  if (kind == Kind::kEvent || kind == Kind::kLoss) return impl_->PreviousOther(kind);
  while (Previous())
    if (impl_->kind() == kind) return true;
  return false;
}

bool ThreadCursor::NextRun() {
  while (impl_->NextRun())
    if (impl_->kind() == Kind::kInstruction) return true;
  return false;
}

bool ThreadCursor::PreviousRun() {
  while (impl_->PreviousRun())
    if (impl_->kind() == Kind::kInstruction) return true;
  return false;
}

}  // namespace flowback
