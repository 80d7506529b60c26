// SPDX-License-Identifier: MIT
// A segment: a stretch of decoded flow as a value, which can be kept, played again, and asked for
// its n-th instruction.
//
// It consists of items in program order. A batch of blocks is kept as the decoder gave it (the
// numbers of its blocks, and lines of time); so an executed block takes about five bytes, and
// playing hands the batch on as it came.
//
//   items      | blocks            | event | blocks     | loss |
//   first      0                   57      57           71     71      instructions before it
//   begin()    ^                                                ^ end()
//
// The certain places at its begin and its end show whether the flow continues across that border: a
// segment whose end is kAt an address is followed by the instruction there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

// Where control stands between two items of a flow, as far as that is certain there.
struct FlowPlace {
  enum class Kind : uint8_t {
    kUnknown,  // nothing is certain: the flow begins, was lost, or went to an unknown place
    kAt,       // the flow goes on, with the instruction at `ip`
    kOff,      // control left the recorded code, for `ip`; 0: unknown
  };

  Kind kind = Kind::kUnknown;
  uint64_t ip = 0;

  // The next item executed directly after this place.
  bool GoesOn() const { return kind == Kind::kAt; }
  friend bool operator==(const FlowPlace&, const FlowPlace&) = default;
};

// Behind an item of flow; `before` is the place in front of it. Behind a loss nothing is certain.
FlowPlace Behind(const BlockRun& run);
FlowPlace Behind(const BlockBatch& batch);
FlowPlace Behind(const TraceEvent& event, const FlowPlace& before);
FlowPlace Behind(const UnknownFlow& unknown);

// Valid as long as the decoder that gave the flow, the code and the stays live.
class FlowSegment {
 public:
  enum class Kind : uint8_t { kBlocks, kBlock, kEvent, kLoss, kUnknown };
  struct Item {
    Kind kind{};
    uint32_t index = 0;  // among its kind
    uint64_t first = 0;  // instructions of the segment before it
  };

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const Item& operator[](size_t item) const { return items_[item]; }
  uint64_t instructions() const { return instructions_; }
  // Returns the number of instructions in the item.
  uint64_t InstructionsOf(size_t item) const {
    return (item + 1 < items_.size() ? items_[item + 1].first : instructions_) - items_[item].first;
  }
  // The item that has instruction `number`, counted from 0. REQUIRES: number < instructions().
  size_t ItemOf(uint64_t number) const;

  // REQUIRES: of that kind.
  BlockBatch Batch(size_t item) const;
  BlockRun Run(size_t item) const;
  const TraceEvent& Event(size_t item) const { return events_[items_[item].index]; }
  const DataLoss& Loss(size_t item) const { return losses_[items_[item].index]; }
  const UnknownFlow& Unknown(size_t item) const { return unknown_[items_[item].index]; }

  // When the last of the item executed or happened, as that item has it; 0: not known.
  uint64_t LastTsc(size_t item) const;

  // The certain places before the first item and after the last one.
  const FlowPlace& begin() const { return begin_; }
  const FlowPlace& end() const { return end_; }

  // All of it, or the items from `begin` up to `end`, until the consumer is done.
  void Play(ExecutionConsumer& consumer) const { Play(0, size(), consumer); }
  void Play(size_t begin, size_t end, ExecutionConsumer& consumer) const;
  // Empty, with nothing certain.
  void Clear();
  // Bytes that it takes, about.
  size_t memory() const;

 private:
  friend class SegmentRecorder;
  struct KeptBatch {
    BlockBatch batch;  // without its spans
    size_t steps = 0;  // where they begin
    size_t step_count = 0;
    size_t counts = 0;
    size_t count_count = 0;
    size_t times = 0;
    size_t time_count = 0;
  };
  struct KeptRun {
    BlockRun run;  // without its lengths
    size_t lengths = 0;
    size_t count = 0;
  };

  void Add(Kind kind, size_t index, uint64_t instructions);

  std::vector<Item> items_;
  uint64_t instructions_ = 0;
  std::vector<KeptBatch> batches_;
  std::vector<BlockStep> steps_;
  std::vector<StepCount> counts_;
  std::vector<TimedPart> times_;
  std::vector<KeptRun> runs_;
  std::vector<uint8_t> lengths_;
  std::vector<TraceEvent> events_;
  std::vector<DataLoss> losses_;
  std::vector<UnknownFlow> unknown_;
  FlowPlace begin_;
  FlowPlace end_;
};

// Adds a decoder's output to a segment.
class SegmentRecorder : public ExecutionConsumer {
 public:
  explicit SegmentRecorder(FlowSegment& segment) : segment_(&segment) {}
  // `before`: the certain place where the flow begins. REQUIRES: the segment is empty.
  SegmentRecorder(FlowSegment& segment, const FlowPlace& before) : segment_(&segment) {
    segment.begin_ = segment.end_ = before;
  }
  // Records into `next` from now on, which begins where this segment ends. REQUIRES: `next` is
  // empty.
  void Use(FlowSegment& next) {
    next.begin_ = next.end_ = segment_->end_;
    segment_ = &next;
  }

  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  void OnUnknown(const UnknownFlow& unknown) override;

 private:
  FlowSegment* segment_;
};

}  // namespace flowback
