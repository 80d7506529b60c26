// SPDX-License-Identifier: MIT
// Walks over the steps of a batch, with the time of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowback/model/block_batch.h"

namespace flowback {

struct StepLanes;

// Works out the times of a batch's steps, up to 128 steps at a time, in the widest registers that
// the processor has. The batch must outlive the walk.
class StepTimes {
 public:
  explicit StepTimes(const BlockBatch& batch);

  // Goes on to the next steps. Returns the number of steps, or 0 at the end.
  size_t Next();
  // Return step `i`, the number of the batch's instructions up to its end, and the time of its last
  // instruction in ticks, as in BlockRun::tsc. REQUIRES: `i` is less than the result of Next.
  BlockStep step(size_t i) const { return steps_[i]; }
  uint64_t count(size_t i) const { return before_ + counts_[i]; }
  uint64_t tsc(size_t i) const { return times_[i]; }

 private:
  // The last 16 are there for whole registers only.
  static constexpr size_t kRoom = 128 + 16;

  void FillCounts(size_t size);
  size_t FillTimes(size_t begin, size_t size);

  const BlockBatch& batch_;
  const StepLanes& lanes_;
  const TimedPart* part_;
  size_t next_ = 0;
  const BlockStep* steps_ = nullptr;
  uint64_t before_ = 0;  // instructions of the batch before them
  uint64_t behind_ = 0;
  uint32_t counts_[kRoom];
  uint64_t times_[kRoom];
};

// Calls visit(block, step, count, tsc) for each step of the batch; `count` and `tsc` are those of
// StepTimes. No block runs are made. The whole loop is inlined into the caller, so that the
// visitor's sums stay in registers.
template <class Visit>
[[gnu::always_inline]] inline void ForEachStep(const BlockBatch& batch, Visit&& visit) {
  const CodeBlock* const blocks = batch.table->blocks().data();
  StepTimes walk(batch);
  while (const size_t size = walk.Next()) {
    for (size_t i = 0; i < size; ++i) {
      BlockStep step = walk.step(i);
      visit(blocks[step.number()], step, walk.count(i), walk.tsc(i));
    }
  }
}

}  // namespace flowback
