// SPDX-License-Identifier: MIT
// A part of one thread's flow, exact to the instruction.
#pragma once

#include <cstdint>

#include "flowback/replay/loss_tally.h"
#include "flowback/replay/player.h"

namespace flowback {

struct ThreadPart {
  const ThreadFlow* thread = nullptr;  // null: all flow of all threads
  uint64_t first = 0;                  // instructions of the thread before the part
  uint64_t instructions = 0;

  bool IsAll() const { return thread == nullptr; }
};

// Hands on what lies in a part of the thread that is played, as a flow that begins with the part's
// first instruction and ends behind its last one. Runs across the borders are cut.
class FlowCut final : public PlayConsumer {
 public:
  // Adds the losses within the part to `losses`, unless that is null. All must outlive it.
  FlowCut(PlayConsumer& next, const ThreadPart& part, LossTally* losses)
      : next_(next), losses_(losses), first_(part.first), end_(part.first + part.instructions) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  void OnUnknown(const UnknownFlow& unknown) override;
  bool Done() const override { return ended_ || next_.Done(); }

 private:
  bool IsInside() const { return position_ > first_ && position_ < end_; }
  void Begin(uint64_t address, uint64_t tsc);
  void End();

  PlayConsumer& next_;
  LossTally* const losses_;
  const uint64_t first_;
  const uint64_t end_;
  const ThreadFlow* thread_ = nullptr;
  size_t number_ = 0;
  uint64_t position_ = 0;  // instructions of the thread so far
  bool ended_ = false;
};

}  // namespace flowback
