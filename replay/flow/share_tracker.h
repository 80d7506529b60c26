// SPDX-License-Identifier: MIT
// Follows how one share's flow changes the call stack. A part of the flow may be read over.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "decode/call_change.h"
#include "decode/call_tracker.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "replay/flow/share_calls.h"

namespace flowback {

// Receives the share's flow, without the parts that a FlowReader reads over.
class ShareTracker {
 public:
  explicit ShareTracker(CallJudge& judge) : tracker_(judge) {}

  void OnBlocks(const BlockBatch& batch) {
    if (batch.steps.empty()) return;
    if (over_ && batch.before.count >= over_->end) PassOver();
    Arrive((*batch.table)[batch.steps.front().number()].address);
    tracker_.Steps(batch);
    next_ = batch.next;
    position_ = batch.behind.count;
  }
  void OnBlock(const BlockRun& run) {
    if (over_ && position_ == 0)
      tracker_.NoteUnusual();  // on which side of it this lies is unknown
    if (over_ && position_ >= over_->begin) PassOver();
    Arrive(run.address);
    tracker_.Part(run);
    next_ = run.next;
    if (run.exit == BlockExit::kStopped) {
      next_ = run.LastAddress() + run.lengths.back();
      tracker_.Stop(run.last, next_);
    } else if (run.exit == BlockExit::kTaken) {
      tracker_.NoteUnusual();
    }
    if (position_ != 0) position_ += run.lengths.size();
  }
  void OnEvent(const TraceEvent& event) { tracker_.OnEvent(event); }
  void NoteUnusual() { tracker_.NoteUnusual(); }
  // A part of the flow is skipped.
  void ReadOver(OverCalls over) {
    if (first_ == 0) tracker_.NoteUnusual();
    over_ = std::move(over);
  }
  // At the share's end.
  ShareCalls Take() {
    if (over_) PassOver();
    if (first_ == 0 || next_ == 0) tracker_.NoteUnusual();
    return {.change = tracker_.Take(), .first = first_, .next = next_};
  }

 private:
  void PassOver() {
    tracker_.Append(over_->change);
    over_.reset();
    next_ = 0;
  }
  void Arrive(uint64_t address) {
    if (first_ == 0) first_ = address;
    if (next_ != 0 && next_ != address) tracker_.NoteUnusual();
  }

  CallTracker tracker_;
  std::optional<OverCalls> over_;
  uint64_t first_ = 0;
  uint64_t next_ = 0;      // address of what should come; 0: not known
  uint64_t position_ = 0;  // instructions of the stream up to here; 0: not known
};

}  // namespace flowback
