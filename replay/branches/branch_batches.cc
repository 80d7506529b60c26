// SPDX-License-Identifier: MIT
// Branches of many blocks at a time. The blocks between a batch's first and last are simple: each
// goes on where the one before it led, without cycles or predictions. Its first and last blocks are
// counted by OnBlock.
#include "replay/branches/branch_sums.h"

namespace flowback {

void BranchSums::OnBlocks(const BlockBatch& batch) {
  // Batches with times may have cycles, and a batch is worth its set-up only with some blocks.
  constexpr size_t kFew = 4;
  BlockRuns runs(batch);
  if (!batch.times.empty() || batch.steps.size() < kFew) {
    while (runs.Next()) OnBlock(runs.run());
    return;
  }
  runs.Next();
  OnBlock(runs.run());
  BatchCounts counts{.cache = cache_.Of(*batch.table), .space = spaces_.Of(&batch.table->space())};
  for (size_t i = 2; i < batch.steps.size(); ++i) {
    runs.Next();
    CountStep(runs, counts);
  }
  const BlockRun& last = runs.run();
  place_ = Behind(last);
  line_begins_ = runs.taken();
  last_ = last.LastAddress();
  space_ = counts.space;
  runs.Next();
  OnBlock(runs.run());
}

// REQUIRES: it is not the batch's first step, and not its last one.
[[gnu::always_inline]] inline void BranchSums::CountStep(const BlockRuns& runs,
                                                         BatchCounts& counts) {
  const CodeBlock& block = runs.block();
  const uint32_t number = runs.step().number();
  if (line_begins_) {
    line_ = block.address;
    counts.line = number;
    counts.knows_line = true;
    instructions_ = 0;
    counts_cycles_ = true;
  }
  instructions_ += block.count;
  line_begins_ = runs.taken();
  if (line_begins_) {
    CountTaken(runs, counts);
  } else if (block.last == InstructionClass::kConditional) {
    NotTaken*& known = counts.cache.not_taken[number];
    if (known == nullptr) known = &not_taken_[{counts.space, block.LastAddress(), 0}];
    ++known->times;
  }
}

[[gnu::always_inline]] inline void BranchSums::CountTaken(const BlockRuns& runs,
                                                          BatchCounts& counts) {
  const uint32_t number = runs.step().number();
  auto& taken = counts.cache.taken[number];
  const uint32_t next = runs.next_step().number();
  if (taken.edge == nullptr || taken.next != next) [[unlikely]]
    taken = {.next = next, .edge = &TakenEdge(runs, counts.space)};
  ++taken.edge->sum.times;
  if (line_ != 0) CountLine(runs, counts);
  line_ = 0;
  instructions_ = 0;
}

[[gnu::noinline]] BranchSums::Edge& BranchSums::TakenEdge(const BlockRuns& runs, uint32_t space) {
  Edge& edge = EdgeOf({space, runs.block().LastAddress(), runs.next()});
  edge.kind = runs.block().last;
  return edge;
}

[[gnu::always_inline]] inline void BranchSums::CountLine(const BlockRuns& runs,
                                                         BatchCounts& counts) {
  const Pair pair{counts.space, line_, runs.block().LastAddress()};
  if (!counts.knows_line) {
    ++ranges_[pair];
    return;
  }
  const uint32_t number = runs.step().number();
  const uint64_t blocks = uint64_t{counts.line} << 32 | number;
  auto& line = cache_.LineOf(blocks);
  if (!line.Is(runs.table(), blocks))
    line = {.table = &runs.table(), .blocks = blocks, .times = &ranges_[pair]};
  ++*line.times;
}

}  // namespace flowback
