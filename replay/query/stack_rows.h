// SPDX-License-Identifier: MIT
// Rows from the calls of threads.
#pragma once

#include <cstddef>
#include <optional>

#include "flowback/replay/call_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/query/flow_rows.h"

namespace flowback {

// Follows the calls of each thread, as `decode --as calls` does.
class StackRows : public FlowRows, protected CallListener {
 public:
  using FlowRows::FlowRows;

 protected:
  // The calls that the thread is in.
  const CallStack& stack() const { return *stack_; }
  // Begins to follow the thread's calls from that share on, or from one before it where the stack
  // is known, and returns its number. `may_skip` false: from the thread's begin on.
  size_t Follow(size_t share, bool may_skip);

  // The value of a time, or NULL.
  QueryValue TimeValue(uint64_t tsc) const {
    return tsc == 0 ? QueryValue() : NumberValue(clock().Value(tsc));
  }
  QueryValue UpperTimeValue(uint64_t tsc) const {
    return tsc == 0 ? QueryValue() : NumberValue(clock().UpperValue(tsc));
  }
  QueryValue DurationValue(uint64_t begin, uint64_t end) const;
  QueryValue TidValue() const { return flow().tid < 0 ? QueryValue() : int64_t{flow().tid}; }
  QueryValue PidValue() const { return flow().pid < 0 ? QueryValue() : int64_t{flow().pid}; }
  QueryValue NameOf(uint32_t function) const;
  // A query for one function wants no other.
  bool FitsFunction(uint32_t function) const;

  // Times of a row hold the limits. Rows without a time fit only without a limit.
  bool FitsBegin(uint64_t tsc) const { return Fits(limits().begin, tsc); }
  bool FitsEnd(uint64_t tsc) const { return Fits(limits().end, tsc); }

 private:
  void OnBlock(const BlockRun& run) override {
    stack_->OnBlock(run);
    Pass(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    stack_->OnBlocks(batch);
    Pass(batch);
  }
  void OnEvent(const TraceEvent& event) override { stack_->OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { stack_->OnLoss(loss); }
  void EndThread() override { stack_->Finish(); }

  bool Fits(const TimeSpan& span, uint64_t tsc) const {
    if (span.begin == 0 && span.end == UINT64_MAX) return true;
    return tsc != 0 && span.Contains(clock().Value(tsc));
  }

  std::optional<ExecTimes> execs_;
  std::optional<CallStack> stack_;
};

}  // namespace flowback
