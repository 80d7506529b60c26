// SPDX-License-Identifier: MIT
#include "decode/pt/block_stretch.h"

#include "flowback/model/execution.h"

namespace flowback::pt {

BlockRun RunOf(const BlockGraph& graph, uint32_t id, unsigned count) {
  const NodeInfo& info = graph.info(id);
  BlockRun run;
  run.address = info.address;
  run.lengths = {info.block->lengths, count};
  run.mode = graph.mode();
  run.space = &graph.space();
  return run;
}

// What is left when `first` is taken away.
void BlockStretch::Drop(const BlockStretch& first) {
  begin += first.count;
  count -= first.count;
  digest.count -= first.digest.count;
  digest.hash -= first.digest.hash * FlowDigest::Power(digest.count);
}

BlockStretch BlockStretch::TakeFirst(const StepBuffer& steps, uint64_t instructions) {
  BlockStretch first = *this;
  first.count = 0;
  first.digest = {};
  for (const BlockStep step : steps.Steps(begin, count)) {
    const Node& node = graph->node(step.number());
    if (first.digest.count + node.count > instructions) {
      first.next = graph->info(step.number()).address;
      break;
    }
    first.digest.hash = first.digest.hash * node.power + node.hash;
    first.digest.count += node.count;
    ++first.count;
  }
  Drop(first);
  return first;
}

BlockRun BlockStretch::TakeBlock(const StepBuffer& steps) {
  const BlockStep step = steps.Steps(begin, 1).front();
  BlockStretch first = *this;
  const Node& node = graph->node(step.number());
  first.count = 1;
  first.digest = {node.count, node.hash};
  Drop(first);
  const BlockBatch batch = first.Batch(steps);
  BlockRuns runs(batch);
  runs.Next();
  BlockRun run = runs.run();
  if (count != 0) run.next = graph->info(steps.Steps(begin, 1).front().number()).address;
  return run;
}

BlockBatch BlockStretch::Batch(const StepBuffer& steps) const {
  BlockBatch batch;
  batch.steps = steps.Steps(begin, count);
  batch.table = &graph->Table();
  batch.next = next;
  batch.digest = digest;
  batch.tsc = tsc;
  batch.in_transaction = in_transaction;
  batch.stay = stay;
  return batch;
}

}  // namespace flowback::pt
