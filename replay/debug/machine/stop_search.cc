// SPDX-License-Identifier: MIT
// A search goes through the items of a share, then on to the next share that may have a stop. An
// item of blocks becomes block runs only if one of its blocks holds an address that stops.
#include "replay/debug/machine/stop_search.h"

#include <algorithm>

namespace flowback {
namespace {

using Found = FoundStop::Kind;
using Item = FlowSegment::Kind;

// One search in one direction.
class StopSearch {
 public:
  StopSearch(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks, uint64_t bound,
             const KeepOn& keep_on)
      : walk_(walk),
        at_(walk.position()),
        index_(index),
        marks_(marks),
        bound_(bound),
        begin_(walk.number()),
        keep_on_(keep_on) {}

  FoundStop Next() {
    const ThreadWalk::Place start = walk_.place();
    FoundStop found = SearchOn();
    if (found.kind == Found::kNone || found.kind == Found::kInterrupted) walk_.Return(start);
    return found;
  }
  FoundStop Previous() {
    const ThreadWalk::Place start = walk_.place();
    FoundStop found = SearchBack();
    if (found.kind == Found::kNone || found.kind == Found::kInterrupted) walk_.Return(start);
    return found;
  }

 private:
  static constexpr size_t kItemsBetweenAsking = 256;

  bool MayStop(const FlowShare& share) const {
    if (marks_.losses && share.losses != 0) return true;
    if (marks_.events && share.events != 0) return true;
    // The index does not count unknown parts: samples are short, and most lie between two of them.
    if (marks_.calls || marks_.unknown) return true;
    return std::ranges::any_of(marks_.addresses,
                               [&](uint64_t address) { return index_.MayExecute(share, address); });
  }

  FoundStop SearchOn() {
    if (at_.at_end()) return {};
    if (at_.at_instruction() && OnFrom(at_.run(), at_.within() + 1))
      return StopAtHand(walk_, marks_);
    const std::vector<FlowShare>& shares = walk_.thread().shares;
    for (size_t begin = at_.item() + 1;; begin = 0) {
      const size_t items = at_.segment().size();
      for (size_t item = begin; item < items; ++item) {
        if (item % kItemsBetweenAsking == 0 && !keep_on_()) return {Found::kInterrupted};
        FoundStop found = StopIn(item, Direction::kForward);
        if (found.kind != Found::kNone) return found;
        if (at_.at_end()) return {};
      }
      size_t share = at_.share() + 1;
      while (share < shares.size() && !MayStop(shares[share])) ++share;
      if (share == shares.size()) return EndStop();
      if (shares[share].first_tsc > bound_) return {};
      if (!keep_on_()) return {Found::kInterrupted};
      at_.EnterShare(share);
    }
  }

  // The flow's end is a place at an address, too.
  FoundStop EndStop() {
    walk_.ToLast();
    return walk_.at_end() ? StopAtHand(walk_, marks_) : FoundStop{};
  }

  FoundStop SearchBack() {
    const std::vector<FlowShare>& shares = walk_.thread().shares;
    if (at_.at_instruction() && BackFrom(at_.run(), at_.within())) return StopAtHand(walk_, marks_);
    size_t end = at_.at_end() ? 0 : at_.item();
    for (;;) {
      while (end-- != 0) {
        if (end % kItemsBetweenAsking == 0 && !keep_on_()) return {Found::kInterrupted};
        FoundStop found = StopIn(end, Direction::kBackward);
        if (found.kind != Found::kNone) return found;
        if (is_over_) return {};
      }
      size_t share = at_.share();
      while (share != 0 && !MayStop(shares[share - 1])) --share;
      if (share == 0) return {};
      if (shares[share - 1].last_tsc != 0 && shares[share - 1].last_tsc < bound_) return {};
      if (!keep_on_()) return {Found::kInterrupted};
      at_.EnterShare(share - 1);
      end = at_.segment().size();
    }
  }

  FoundStop StopIn(size_t item, Direction direction) {
    switch (at_.segment()[item].kind) {
      case Item::kLoss:
        if (!marks_.losses || KeepsPlace(at_.segment().Loss(item).cause)) return {};
        return BesideItem(item, direction, Found::kLoss);
      case Item::kEvent:
        if (FoundStop found = AtTrap(item, direction); found.kind != Found::kNone) return found;
        if (!marks_.events || !marks_.events(at_.segment().Event(item))) return {};
        return BesideItem(item, direction, Found::kEvent);
      case Item::kUnknown:
        return marks_.unknown ? BesideItem(item, direction, Found::kUnknown) : FoundStop{};
      default:
        return InBlocks(item, direction) ? StopAtHand(walk_, marks_) : FoundStop{};
    }
  }

  // At a system call that the flow has no instruction of: the event lies behind its place.
  FoundStop AtTrap(size_t item, Direction direction) {
    if (!marks_.calls || at_.segment().Event(item).kind != EventKind::kStoppedAsync) return {};
    const size_t share = at_.share();
    at_.EnterItem(item, 0);
    const bool is_ahead =
        walk_.SettleBack(nullptr) && (direction == Direction::kBackward || walk_.number() > begin_);
    FoundStop found = is_ahead ? CallStop() : FoundStop{};
    if (found.kind != Found::kNone) return found;
    at_.EnterShare(share);
    at_.EnterItem(item, 0);
    return {};
  }

  FoundStop CallStop() { return StopAtHand(walk_, {.calls = marks_.calls}); }

  // At the place beside a loss, an unknown part or an event; where the thread has none there, the
  // search is over.
  FoundStop BesideItem(size_t item, Direction direction, Found kind) {
    FoundStop found{kind};
    if (kind == Found::kLoss) found.loss = at_.segment().Loss(item);
    if (kind == Found::kEvent) found.event = at_.segment().Event(item);
    at_.EnterItem(item, 0);
    const bool settled =
        direction == Direction::kForward ? walk_.SettleOn(nullptr) : walk_.SettleBack(nullptr);
    if (settled) return found;
    is_over_ = true;
    return {};
  }

  bool InBlocks(size_t item, Direction direction) {
    if ((marks_.addresses.empty() && !marks_.calls) || !MayHold(item)) return false;
    at_.EnterItem(item, 0);
    if (direction == Direction::kForward) return OnFrom(0, 0);
    const size_t last = at_.runs().size() - 1;
    return BackFrom(last, at_.runs()[last].lengths.size());
  }

  bool MayHold(size_t item) const {
    if (at_.segment()[item].kind != Item::kBlocks) return true;
    const BlockBatch batch = at_.segment().Batch(item);
    return std::ranges::any_of(batch.steps, [&](BlockStep step) {
      const CodeBlock& block = (*batch.table)[step.number()];
      if (marks_.calls && block.last == InstructionClass::kFarCall) return true;
      const auto address = std::ranges::lower_bound(marks_.addresses, block.address);
      return address != marks_.addresses.end() && *address - block.address < block.size;
    });
  }

  // To the run's last instruction, if that makes a call. The runs are read anew then.
  bool ToCallOf(size_t run) {
    if (!marks_.calls || at_.runs()[run].last != InstructionClass::kFarCall) return false;
    at_.EnterLastOfRun(run);
    return CallStop().kind != Found::kNone;
  }

  // To the first instruction at an address, from that one of the run on.
  bool OnFrom(size_t run, uint64_t begin) {
    for (; run < at_.runs().size(); ++run, begin = 0) {
      const BlockRun& instructions = at_.runs()[run];
      uint64_t address = instructions.address;
      for (uint64_t i = 0; i < instructions.lengths.size(); address += instructions.lengths[i++]) {
        if (i < begin || !marks_.HasAddress(address)) continue;
        at_.EnterRun(run, i);
        return true;
      }
      if (begin < instructions.lengths.size() && ToCallOf(run)) return true;
    }
    return false;
  }

  // Moves to the last such place up to the run; only the run's first `end` instructions count.
  bool BackFrom(size_t run, uint64_t end) {
    for (;; end = at_.runs()[--run].lengths.size()) {
      if (end == at_.runs()[run].lengths.size() && ToCallOf(run)) return true;
      const BlockRun& instructions = at_.runs()[run];
      std::optional<uint64_t> last;
      uint64_t address = instructions.address;
      for (uint64_t i = 0; i < end; address += instructions.lengths[i++])
        if (marks_.HasAddress(address)) last = i;
      if (last) {
        at_.EnterRun(run, *last);
        return true;
      }
      if (run == 0) return false;
    }
  }

  ThreadWalk& walk_;
  CursorPosition& at_;
  const FlowIndex& index_;
  const StopMarks& marks_;
  const uint64_t bound_;
  const uint64_t begin_;  // the number of the place that the search begins at
  const KeepOn& keep_on_;
  bool is_over_ = false;
};

}  // namespace

bool StopMarks::HasAddress(uint64_t address) const {
  return std::ranges::binary_search(addresses, address);
}

bool StopMarks::HasMilestone(MilestoneKind kind) const {
  return std::ranges::find(milestones, kind) != milestones.end();
}

bool StopMarks::HasCall(const CallHere& call) const {
  if (!calls || calls->empty()) return calls.has_value();
  return call.number && std::ranges::find(*calls, *call.number) != calls->end();
}

FoundStop StopAtHand(ThreadWalk& walk, const StopMarks& marks) {
  FoundStop found;
  if (marks.HasAddress(walk.pc())) found.kind = Found::kAddress;
  const auto call = marks.calls ? CallAt(walk) : std::nullopt;
  if (!call || !marks.HasCall(*call)) return found;
  found.kind = Found::kAddress;
  found.call = call->number;
  return found;
}

FoundStop ToNextStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                     uint64_t last_tsc, const KeepOn& keep_on) {
  return StopSearch(walk, index, marks, last_tsc, keep_on).Next();
}

FoundStop ToPreviousStop(ThreadWalk& walk, const FlowIndex& index, const StopMarks& marks,
                         uint64_t first_tsc, const KeepOn& keep_on) {
  return StopSearch(walk, index, marks, first_tsc, keep_on).Previous();
}

}  // namespace flowback
