// SPDX-License-Identifier: MIT
// A search goes from item to item of the share at hand, then to the next share that may have the
// wanted place.
#include "replay/flow/cursor_search.h"

#include <algorithm>
#include <vector>

#include "replay/flow/share_search.h"

namespace flowback {
namespace {

using Kind = CursorPosition::Kind;
using Place = CursorPosition::Place;

// `may_have` returns whether a share is worth looking at, `enter` whether an item matches; the
// position stands there then. False: the position is somewhere on the way.
template <class MayHave, class Enter>
bool SearchOn(CursorPosition& position, MayHave may_have, Enter enter) {
  if (position.at_end()) return false;
  const std::vector<FlowShare>& shares = position.thread().shares;
  for (size_t begin = position.item() + 1;; begin = 0) {
    const size_t items = position.segment().size();
    for (size_t item = begin; item < items; ++item)
      if (enter(item)) return true;
    size_t share = position.share() + 1;
    while (share < shares.size() && !may_have(shares[share])) ++share;
    if (share == shares.size()) return false;
    position.EnterShare(share);
  }
}

template <class MayHave, class Enter>
bool SearchBack(CursorPosition& position, MayHave may_have, Enter enter) {
  const std::vector<FlowShare>& shares = position.thread().shares;
  // Behind the last element nothing of the share at hand is left to look at: there is no such
  // share.
  size_t end = position.at_end() ? 0 : position.item();
  for (;;) {
    while (end-- != 0)
      if (enter(end)) return true;
    size_t share = position.share();
    while (share != 0 && !may_have(shares[share - 1])) --share;
    if (share == 0) return false;
    position.EnterShare(share - 1);
    end = position.segment().size();
  }
}

// Whether a block of the item holds it: so an item without it need not become block runs.
bool MayExecuteIn(const FlowSegment& segment, size_t item, uint64_t address) {
  switch (segment[item].kind) {
    case FlowSegment::Kind::kBlock:
      return true;
    case FlowSegment::Kind::kBlocks: {
      const BlockBatch batch = segment.Batch(item);
      return std::ranges::any_of(batch.steps, [&](BlockStep step) {
        const CodeBlock& block = (*batch.table)[step.number()];
        return address - block.address < block.size;
      });
    }
    default:
      return false;
  }
}

// To the instruction at `address` of a run of the item at hand, if it is among the run's
// instructions [begin, end).
bool StandAt(CursorPosition& position, size_t run, uint64_t address, uint64_t begin, uint64_t end) {
  const BlockRun& instructions = position.runs()[run];
  uint64_t at = instructions.address;
  for (uint64_t i = 0; i < end && at <= address; at += instructions.lengths[i++]) {
    if (at != address || i < begin) continue;
    position.EnterRun(run, i);
    return true;
  }
  return false;
}

// To the first one from the run `first` on, but for the first `begin` instructions of that.
bool FirstFrom(CursorPosition& position, size_t first, uint64_t begin, uint64_t address) {
  const ItemRuns& runs = position.runs();
  for (size_t run = first; run < runs.size(); ++run, begin = 0)
    if (StandAt(position, run, address, begin, runs[run].lengths.size())) return true;
  return false;
}

// Moves to the last execution up to the run `last`; only that run's first `end` instructions count.
bool LastBefore(CursorPosition& position, size_t last, uint64_t end, uint64_t address) {
  const ItemRuns& runs = position.runs();
  for (size_t run = last;; end = runs[--run].lengths.size()) {
    if (StandAt(position, run, address, 0, end)) return true;
    if (run == 0) return false;
  }
}

bool HasKind(const FlowSegment& segment, size_t item, Kind kind) {
  return segment[item].kind ==
         (kind == Kind::kEvent ? FlowSegment::Kind::kEvent : FlowSegment::Kind::kLoss);
}
bool HasAny(const FlowShare& share, Kind kind) {
  return (kind == Kind::kEvent ? share.events : share.losses) != 0;
}
// Returns whether the index has the number of such items in a share.
bool IsCounted(Kind kind) { return kind == Kind::kEvent || kind == Kind::kLoss; }

// A run's last instruction is a branch unless the run was cut before one.
bool EndsInBranch(const CursorPosition& position) {
  return position.at_instruction() &&
         position.runs()[position.run()].exit != BlockExit::kFallThrough;
}

// The last time of the share's flow; of those before it, if it has none.
uint64_t LastTscUpTo(CursorPosition& position, size_t share) {
  for (;; --share) {
    position.EnterShare(share);
    const FlowSegment& segment = position.segment();
    for (size_t item = segment.size(); item-- != 0;)
      if (const uint64_t tsc = segment.LastTsc(item); tsc != 0) return tsc;
    if (share == 0) return 0;
  }
}

}  // namespace

bool ToNextAt(CursorPosition& position, const FlowIndex& index, uint64_t address) {
  const Place start = position.place();
  if (position.at_instruction() &&
      FirstFrom(position, position.run(), position.within() + 1, address))
    return true;
  const bool found = SearchOn(
      position, [&](const FlowShare& share) { return index.MayExecute(share, address); },
      [&](size_t item) {
        if (!MayExecuteIn(position.segment(), item, address)) return false;
        position.EnterItem(item, 0);
        return FirstFrom(position, 0, 0, address);
      });
  if (!found) position.Return(start);
  return found;
}

bool ToPreviousAt(CursorPosition& position, const FlowIndex& index, uint64_t address) {
  const Place start = position.place();
  if (position.at_instruction() && LastBefore(position, position.run(), position.within(), address))
    return true;
  const bool found = SearchBack(
      position, [&](const FlowShare& share) { return index.MayExecute(share, address); },
      [&](size_t item) {
        if (!MayExecuteIn(position.segment(), item, address)) return false;
        position.EnterItem(item, 0);
        const ItemRuns& runs = position.runs();
        return LastBefore(position, runs.size() - 1, runs[runs.size() - 1].lengths.size(), address);
      });
  if (!found) position.Return(start);
  return found;
}

bool ToNextOf(CursorPosition& position, Kind kind) {
  if (!IsCounted(kind)) {
    while (position.Next())
      if (position.kind() == kind) return true;
    return false;
  }
  const bool found = SearchOn(
      position, [&](const FlowShare& share) { return HasAny(share, kind); },
      [&](size_t item) {
        if (!HasKind(position.segment(), item, kind)) return false;
        position.EnterItem(item, 0);
        return true;
      });
  if (!found) position.ToEnd();
  return found;
}

bool ToPreviousOf(CursorPosition& position, Kind kind) {
  if (!IsCounted(kind)) {
    while (position.Previous())
      if (position.kind() == kind) return true;
    return false;
  }
  const bool found = SearchBack(
      position, [&](const FlowShare& share) { return HasAny(share, kind); },
      [&](size_t item) {
        if (!HasKind(position.segment(), item, kind)) return false;
        position.EnterItem(item, 0);
        return true;
      });
  if (!found) position.ToBegin();
  return found;
}

bool ToNextBranch(CursorPosition& position) {
  while (position.Next()) {
    if (!EndsInBranch(position)) continue;
    position.EnterLastOfRun(position.run());
    return true;
  }
  return false;
}

bool ToPreviousBranch(CursorPosition& position) {
  if (position.at_instruction()) position.EnterRun(position.run(), 0);
  while (position.Previous()) {
    if (EndsInBranch(position)) return true;  // it came to the run's end
    if (position.at_instruction()) position.EnterRun(position.run(), 0);
  }
  return false;
}

bool ToNextRun(CursorPosition& position) {
  while (position.NextRun())
    if (position.at_instruction()) return true;
  return false;
}

bool ToPreviousRun(CursorPosition& position) {
  while (position.PreviousRun())
    if (position.at_instruction()) return true;
  return false;
}

void ToTime(CursorPosition& position, uint64_t tsc) {
  const size_t shares = position.thread().shares.size();
  size_t share = ShareOfTime(position.thread(), tsc);
  while (share != 0 && LastTscUpTo(position, share - 1) >= tsc) --share;
  while (share < shares && LastTscUpTo(position, share) < tsc) ++share;
  if (share == shares) return position.ToEnd();
  position.EnterShare(share);
  const FlowSegment& segment = position.segment();
  size_t item = 0;
  while (item + 1 < segment.size() && segment.LastTsc(item) < tsc) ++item;
  position.EnterItem(item, 0);
  const ItemRuns& runs = position.runs();
  while (position.at_instruction() && runs[position.run()].tsc < tsc &&
         position.run() + 1 < runs.size())
    position.EnterRun(position.run() + 1, 0);
  while (position.at_instruction() && position.instruction().tsc < tsc && position.Next()) continue;
}

}  // namespace flowback
