// SPDX-License-Identifier: MIT
#include "flowback/model/flow_segment.h"

#include <algorithm>

namespace flowback {

void FlowSegment::Add(Kind kind, size_t index, uint64_t instructions) {
  items_.push_back({kind, static_cast<uint32_t>(index), instructions_});
  instructions_ += instructions;
}

size_t FlowSegment::ItemOf(uint64_t number) const {
  const auto behind = std::ranges::upper_bound(items_, number, {}, &Item::first);
  return static_cast<size_t>(behind - items_.begin()) - 1;
}

BlockBatch FlowSegment::Batch(size_t item) const {
  const KeptBatch& kept = batches_[items_[item].index];
  BlockBatch batch = kept.batch;
  batch.steps = {steps_.data() + kept.steps, kept.step_count};
  batch.counts = {counts_.data() + kept.counts, kept.count_count};
  batch.times = {times_.data() + kept.times, kept.time_count};
  return batch;
}

BlockRun FlowSegment::Run(size_t item) const {
  const KeptRun& kept = runs_[items_[item].index];
  BlockRun run = kept.run;
  run.lengths = {lengths_.data() + kept.lengths, kept.count};
  return run;
}

uint64_t FlowSegment::LastTsc(size_t item) const {
  switch (items_[item].kind) {
    case Kind::kBlocks:
      return Batch(item).last_tsc();
    case Kind::kBlock:
      return Run(item).tsc;
    case Kind::kEvent:
      return Event(item).tsc;
    case Kind::kLoss:
      return Loss(item).tsc;
    case Kind::kUnknown:
      return Unknown(item).tsc;
  }
  return 0;
}

void FlowSegment::Play(size_t begin, size_t end, ExecutionConsumer& consumer) const {
  for (size_t item = begin; item < end && !consumer.Done(); ++item) {
    switch (items_[item].kind) {
      case Kind::kBlocks:
        consumer.OnBlocks(Batch(item));
        break;
      case Kind::kBlock:
        consumer.OnBlock(Run(item));
        break;
      case Kind::kEvent:
        consumer.OnEvent(Event(item));
        break;
      case Kind::kLoss:
        consumer.OnLoss(Loss(item));
        break;
      case Kind::kUnknown:
        consumer.OnUnknown(Unknown(item));
        break;
    }
  }
}

void FlowSegment::Clear() {
  items_.clear();
  instructions_ = 0;
  batches_.clear();
  steps_.clear();
  counts_.clear();
  times_.clear();
  runs_.clear();
  lengths_.clear();
  events_.clear();
  losses_.clear();
  unknown_.clear();
  begin_ = end_ = {};
}

size_t FlowSegment::memory() const {
  const auto of = [](const auto& items) { return items.capacity() * sizeof items[0]; };
  return of(items_) + of(batches_) + of(steps_) + of(counts_) + of(times_) + of(runs_) +
         of(lengths_) + of(events_) + of(losses_) + of(unknown_);
}

void SegmentRecorder::OnBlock(const BlockRun& run) {
  FlowSegment& to = *segment_;
  to.Add(FlowSegment::Kind::kBlock, to.runs_.size(), run.lengths.size());
  to.runs_.push_back({run, to.lengths_.size(), run.lengths.size()});
  to.runs_.back().run.lengths = {};
  to.lengths_.insert(to.lengths_.end(), run.lengths.begin(), run.lengths.end());
  to.end_ = Behind(run);
}

void SegmentRecorder::OnBlocks(const BlockBatch& batch) {
  FlowSegment& to = *segment_;
  to.Add(FlowSegment::Kind::kBlocks, to.batches_.size(), batch.instructions());
  to.batches_.push_back({batch, to.steps_.size(), batch.steps.size(), to.counts_.size(),
                         batch.counts.size(), to.times_.size(), batch.times.size()});
  to.batches_.back().batch.steps = {};
  to.batches_.back().batch.counts = {};
  to.batches_.back().batch.times = {};
  to.steps_.insert(to.steps_.end(), batch.steps.begin(), batch.steps.end());
  to.counts_.insert(to.counts_.end(), batch.counts.begin(), batch.counts.end());
  to.times_.insert(to.times_.end(), batch.times.begin(), batch.times.end());
  to.end_ = Behind(batch);
}

void SegmentRecorder::OnEvent(const TraceEvent& event) {
  FlowSegment& to = *segment_;
  to.Add(FlowSegment::Kind::kEvent, to.events_.size(), 0);
  to.events_.push_back(event);
  to.end_ = Behind(event, to.end_);
}

void SegmentRecorder::OnLoss(const DataLoss& loss) {
  FlowSegment& to = *segment_;
  to.Add(FlowSegment::Kind::kLoss, to.losses_.size(), 0);
  to.losses_.push_back(loss);
  to.end_ = {};
}

void SegmentRecorder::OnUnknown(const UnknownFlow& unknown) {
  FlowSegment& to = *segment_;
  to.Add(FlowSegment::Kind::kUnknown, to.unknown_.size(), 0);
  to.unknown_.push_back(unknown);
  to.end_ = Behind(unknown);
}

}  // namespace flowback
