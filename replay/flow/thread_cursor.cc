// SPDX-License-Identifier: MIT
#include "flowback/replay/thread_cursor.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace flowback {
namespace {

// The block runs of one item of a segment, to be gone through in both directions.
class ItemRuns {
 public:
  void Fill(const FlowSegment& segment, size_t item) {
    runs_.clear();
    firsts_.clear();
    if (segment[item].kind == FlowSegment::Kind::kBlock) {
      Add(segment.Run(item), 0);
      return;
    }
    const BlockBatch batch = segment.Batch(item);
    uint64_t first = 0;
    for (BlockRuns runs(batch); runs.Next(); first += runs_.back().lengths.size())
      Add(runs.run(), first);
  }
  // That of the item's instruction `number`, from 0.
  size_t Find(uint64_t number) const {
    return static_cast<size_t>(std::ranges::upper_bound(firsts_, number) - firsts_.begin()) - 1;
  }
  size_t size() const { return runs_.size(); }
  const BlockRun& operator[](size_t run) const { return runs_[run]; }
  // Instructions of the item before the run.
  uint64_t first(size_t run) const { return firsts_[run]; }

 private:
  void Add(const BlockRun& run, uint64_t first) {
    runs_.push_back(run);
    firsts_.push_back(first);
  }

  std::vector<BlockRun> runs_;
  std::vector<uint64_t> firsts_;
};

// Segments used last: going to and fro over a border decodes nothing anew.
class SegmentCache {
 public:
  SegmentCache(FlowIndex& index, const IndexedThread& thread) : index_(index), thread_(thread) {}

  // Valid until another kSegments have been asked for.
  const FlowSegment& At(size_t share) {
    for (Kept& kept : kept_) {
      if (kept.share != share) continue;
      kept.used = ++clock_;
      return kept.segment;
    }
    Kept& oldest = *std::ranges::min_element(kept_, {}, &Kept::used);
    oldest.share = share;
    oldest.used = ++clock_;
    index_.Load(thread_.shares[share], oldest.segment);
    return oldest.segment;
  }

 private:
  static constexpr size_t kSegments = 4;
  struct Kept {
    size_t share = SIZE_MAX;
    uint64_t used = 0;
    FlowSegment segment;
  };

  FlowIndex& index_;
  const IndexedThread& thread_;
  std::array<Kept, kSegments> kept_;
  uint64_t clock_ = 0;
};

}  // namespace

// The place: an element of an item of a share. Behind the last element the share is that behind the
// last one.
class ThreadCursor::Impl {
 public:
  Impl(FlowIndex& index, const IndexedThread& thread) : thread_(thread), cache_(index, thread) {
    ToBegin();
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
    const uint64_t within = number - thread_.shares[share_].first;
    const size_t item = segment_->ItemOf(within);
    EnterItem(item, within - (*segment_)[item].first);
  }
  void ToTime(uint64_t tsc);

  bool Next();
  bool Previous();
  bool NextRun();
  bool PreviousRun();
  bool NextAt(uint64_t address);
  bool PreviousAt(uint64_t address);

 private:
  struct Place {
    size_t share = 0;
    size_t item = 0;
    uint64_t within = 0;  // of the item's instructions
  };
  Place place() const {
    return {share_, item_, kind_ == Kind::kInstruction ? runs_.first(run_) + within_ : 0};
  }
  void Return(const Place& place) {
    if (place.share == thread_.shares.size()) return ToEnd();
    EnterShare(place.share);
    EnterItem(place.item, place.within);
  }
  bool StandAt(uint64_t address, uint64_t begin, uint64_t end);
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

// To the first element of the run before; elements that are no instructions are runs of their own.
bool ThreadCursor::Impl::PreviousRun() {
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

bool ThreadCursor::Impl::NextAt(uint64_t address) {
  const Place start = place();
  uint64_t begin = within_ + 1;
  do {
    if (kind_ == Kind::kInstruction && StandAt(address, begin, runs_[run_].lengths.size()))
      return true;
    begin = 0;
  } while (NextRun());
  Return(start);
  return false;
}

bool ThreadCursor::Impl::PreviousAt(uint64_t address) {
  const Place start = place();
  if (kind_ == Kind::kInstruction && StandAt(address, 0, within_)) return true;
  while (PreviousRun())
    if (kind_ == Kind::kInstruction && StandAt(address, 0, runs_[run_].lengths.size())) return true;
  Return(start);
  return false;
}

void ThreadCursor::Impl::ToTime(uint64_t tsc) {
  const auto& shares = thread_.shares;
  // Times don't go back from share to share; one without any has that of those before it.
  const auto share = std::ranges::find_if(
      shares, [tsc](const FlowShare& at) { return at.last_tsc != 0 && at.last_tsc >= tsc; });
  if (share == shares.end()) return ToEnd();
  EnterShare(static_cast<size_t>(share - shares.begin()));
  const auto last_of = [this](size_t item) -> uint64_t {
    switch ((*segment_)[item].kind) {
      case FlowSegment::Kind::kBlocks:
        return segment_->Batch(item).last_tsc();
      case FlowSegment::Kind::kBlock:
        return segment_->Run(item).tsc;
      case FlowSegment::Kind::kEvent:
        return segment_->Event(item).tsc;
      case FlowSegment::Kind::kUnknown:
        return segment_->Unknown(item).tsc;
      default:
        return segment_->Loss(item).tsc;
    }
  };
  size_t item = 0;
  while (last_of(item) < tsc) ++item;
  EnterItem(item, 0);
  while (kind_ == Kind::kInstruction && runs_[run_].tsc < tsc) EnterRun(run_ + 1, 0);
  while (kind_ == Kind::kInstruction && instruction_.tsc < tsc) Next();
}

ThreadCursor::ThreadCursor(FlowIndex& index, const IndexedThread& thread)
    : impl_(std::make_unique<Impl>(index, thread)) {}
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

bool ThreadCursor::Next(Kind kind) {
  while (Next())
    if (impl_->kind() == kind) return true;
  return false;
}

bool ThreadCursor::Previous(Kind kind) {
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
