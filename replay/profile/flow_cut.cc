// SPDX-License-Identifier: MIT
#include "replay/profile/flow_cut.h"

#include <algorithm>

#include "base/block_part.h"

namespace flowback {

void FlowCut::OnThreadBegin(const ThreadFlow& thread, size_t number) {
  thread_ = &thread;
  number_ = number;
  position_ = 0;
}

void FlowCut::OnThreadEnd(const ThreadFlow&, size_t) {
  if (position_ > first_) End();
}

// The flow resumes there, so that code up to the first branch counts as a line of its own.
void FlowCut::Begin(uint64_t address, uint64_t tsc) {
  next_.OnThreadBegin(*thread_, number_);
  TraceEvent started;
  started.kind = EventKind::kStarted;
  started.tsc = tsc;
  started.ip = address;
  started.has_ip = true;
  next_.OnEvent(started);
}

// Nothing is handed on any more, not even the thread's end: so this says it.
void FlowCut::End() {
  if (!ended_) next_.OnThreadEnd(*thread_, number_);
  ended_ = true;
}

void FlowCut::OnBlock(const BlockRun& run) {
  const uint64_t begin = position_;
  position_ += run.lengths.size();
  if (ended_ || position_ <= first_) return;
  const auto from = static_cast<size_t>(std::max(first_, begin) - begin);
  const auto to = static_cast<size_t>(std::min(end_, position_) - begin);
  if (from < to) {
    const BlockRun part = PartOf(run, from, to);
    if (begin <= first_) Begin(part.address, part.first_tsc);
    next_.OnBlock(part);
  }
  if (position_ >= end_) End();
}

void FlowCut::OnBlocks(const BlockBatch& batch) {
  const uint64_t end = position_ + batch.instructions();
  if (end <= first_) {
    position_ = end;
    return;
  }
  if (position_ > first_ && end < end_) {
    position_ = end;
    return next_.OnBlocks(batch);
  }
  for (BlockRuns runs(batch); runs.Next() && !Done();) OnBlock(runs.run());
}

void FlowCut::OnEvent(const TraceEvent& event) {
  if (IsInside()) next_.OnEvent(event);
}

void FlowCut::OnLoss(const DataLoss& loss) {
  if (!IsInside()) return;
  if (losses_ != nullptr) losses_->Add(loss);
  next_.OnLoss(loss);
}

void FlowCut::OnUnknown(const UnknownFlow& unknown) {
  if (IsInside()) next_.OnUnknown(unknown);
}

}  // namespace flowback
