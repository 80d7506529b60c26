// SPDX-License-Identifier: MIT
// Where a cursor stands in a thread's flow, and its way to the element next to it.
//
//   shares of the thread   |------------|------------|------------|
//   items of the share     [blocks][event][blocks   ][loss][blocks]
//   block runs of the item               [run][run  ][run]
//   elements of the run                       i i i i        one instruction each
//
// An item that is no block runs is one element itself. Behind the last element the share is that
// behind the last one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowback/model/flow_segment.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_cursor.h"
#include "replay/flow/segment_cache.h"

namespace flowback {

class CursorPosition {
 public:
  using Kind = ThreadCursor::Kind;
  using Place = ThreadCursor::Place;

  // Behind the last element.
  CursorPosition(FlowIndex& index, const IndexedThread& thread)
      : thread_(thread), cache_(index, thread) {
    ToEnd();
  }
  CursorPosition(const CursorPosition&) = delete;  // its segment lies in its cache
  CursorPosition& operator=(const CursorPosition&) = delete;

  // As ThreadCursor has them.
  Kind kind() const { return kind_; }
  uint64_t number() const { return number_; }
  const CursorInstruction& instruction() const { return instruction_; }
  const TraceEvent& event() const { return segment_->Event(item_); }
  const DataLoss& loss() const { return segment_->Loss(item_); }
  const UnknownFlow& unknown() const { return segment_->Unknown(item_); }
  uint64_t tsc() const;
  Place place() const;
  void Return(const Place& place);
  void ToBegin();
  void ToEnd();
  void ToInstruction(uint64_t number);
  bool Next();
  bool Previous();
  // The same from run to run, to the first element of each; elements that are no instructions are
  // runs of their own.
  bool NextRun();
  bool PreviousRun();

  // What follows is for who searches (cursor_search.h).
  bool at_end() const { return kind_ == Kind::kEnd; }
  bool at_instruction() const { return kind_ == Kind::kInstruction; }
  const IndexedThread& thread() const { return thread_; }
  size_t share() const { return share_; }
  const FlowSegment& segment() const { return *segment_; }  // REQUIRES: !at_end()
  size_t item() const { return item_; }
  const ItemRuns& runs() const { return runs_; }  // of the item, if it is of instructions
  size_t run() const { return run_; }
  uint64_t within() const { return within_; }  // instructions of the run before the one at hand

  // Has the share at hand, but stands at none of its items before EnterItem is called.
  void EnterShare(size_t share);
  // `within`: of the item's instructions; 0 where it has none.
  void EnterItem(size_t item, uint64_t within);
  // REQUIRES: at_instruction()
  void EnterRun(size_t run, uint64_t within);
  void EnterLastOfRun(size_t run) { EnterRun(run, runs_[run].lengths.size() - 1); }

 private:
  void EnterLastOf(size_t item);
  void EnterInstruction(uint64_t within);
  bool NextItem();
  bool PreviousItem();
  void Show();
  uint64_t FirstOfItem() const { return thread_.shares[share_].first + (*segment_)[item_].first; }

  const IndexedThread& thread_;
  SegmentCache cache_;
  size_t share_ = 0;
  const FlowSegment* segment_ = nullptr;  // the share's; null behind the last one
  size_t item_ = 0;                       // of the segment
  ItemRuns runs_;
  size_t run_ = 0;
  uint64_t within_ = 0;
  uint64_t address_ = 0;  // of the instruction at hand
  Kind kind_ = Kind::kEnd;
  uint64_t number_ = 0;
  CursorInstruction instruction_;
};

}  // namespace flowback
