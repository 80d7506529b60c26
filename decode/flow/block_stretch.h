// SPDX-License-Identifier: MIT
// A stretch of the flow: blocks one behind the other that have the same graph, time, transaction
// and stay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/flow/block_graph.h"
#include "decode/flow/step_buffer.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/block_batch.h"

namespace flowback::flow {

struct BlockStretch {
  BlockGraph* graph = nullptr;
  StepBuffer::Position begin = 0;
  size_t count = 0;   // steps
  uint64_t next = 0;  // where control went behind the last one
  FlowDigest before;  // of all instructions of the flow that come before the stretch
  FlowDigest behind;  // of those and the stretch's own
  uint64_t tsc = 0;   // the latest one known when it began
  bool in_transaction = false;
  bool goes_on = false;  // where the stretch before it ended, with the same graph and transaction
  const ThreadStay* stay = nullptr;

  uint64_t instructions() const { return behind.count - before.count; }
  // Adds the stretch that comes directly behind this one.
  void Append(const BlockStretch& rest) {
    count += rest.count;
    next = rest.next;
    behind = rest.behind;
  }
  // All of it, without estimated times.
  BlockBatch Batch(const StepBuffer& steps) const {
    return {.steps = steps.Steps(begin, count),
            .counts = {},
            .table = &graph->Table(),
            .next = next,
            .before = before,
            .behind = behind,
            .times = {},
            .tsc = tsc,
            .in_transaction = in_transaction,
            .stay = stay};
  }
};

// A run of the first `count` instructions of a node's block, without times.
inline BlockRun RunOf(const BlockGraph& graph, uint32_t id, unsigned count) {
  const NodeInfo& info = graph.info(id);
  BlockRun run;
  run.address = info.address;
  run.lengths = {static_cast<const uint8_t*>(info.block->lengths), count};
  run.mode = graph.mode();
  run.space = &graph.space();
  return run;
}

}  // namespace flowback::flow
