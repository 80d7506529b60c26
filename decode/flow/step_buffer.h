// SPDX-License-Identifier: MIT
// The steps of a flow that wait to be handed on. A writer adds steps at the end; the receiver
// releases those that it needs no longer, and their place is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/flow/block_lists.h"
#include "flowback/model/block_batch.h"

namespace flowback::flow {

class StepBuffer {
 public:
  // The number of a step, counted from the begin of the flow.
  using Position = uint64_t;

  StepBuffer() : steps_(kFirst + kMargin), counts_(kFirst + kMargin) {}
  // A copy has only the steps that have not been released, and little room behind them.
  StepBuffer(const StepBuffer& other) { *this = other; }
  StepBuffer& operator=(const StepBuffer& other);

  // Adds a step of a block that has `count` instructions. REQUIRES: end() <= limit().
  void Add(BlockStep step, unsigned count) {
    *end_ = step;
    *counts_end() = StepCount::Of(count);
    ++end_;
  }
  // A writer of steps at end() also writes as many counts at counts_end(), if they are wanted.
  BlockStep* end() { return end_; }
  StepCount* counts_end() { return counts_.data() + (end_ - steps_.data()); }
  void set_end(BlockStep* end) { end_ = end; }
  // A list of steps (BlockLists) may be copied to any place up to here.
  BlockStep* limit() { return steps_.data() + steps_.size() - kMargin; }
  Position position() const { return base_ + static_cast<size_t>(end_ - steps_.data()); }
  std::span<const BlockStep> Steps(Position begin, size_t count) const {
    return {steps_.data() + (begin - base_), count};
  }
  std::span<const StepCount> Counts(Position begin, size_t count) const {
    return {counts_.data() + (begin - base_), count};
  }
  // Steps before `position` are not needed any more.
  void Release(Position position) {
    released_ = position;
    if (position != this->position()) return;
    base_ = position;
    end_ = steps_.data();
  }
  // Makes room, so that end() lies before limit(). The steps move in memory.
  void MakeRoom();

 private:
  static constexpr size_t kFirst = 4096;
  static constexpr size_t kMargin = BlockLists::kMost + BlockLists::kSpill;

  std::vector<BlockStep> steps_;
  std::vector<StepCount> counts_;  // in the same places
  BlockStep* end_ = steps_.data();
  Position base_ = 0;  // of steps_[0]
  Position released_ = 0;
};

}  // namespace flowback::flow
