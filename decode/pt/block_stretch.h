// SPDX-License-Identifier: MIT
// A stretch of the flow: blocks one behind the other, of which the engine has told the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/pt/block_graph.h"
#include "decode/pt/step_buffer.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/block_batch.h"

namespace flowback::pt {

struct BlockStretch {
  BlockGraph* graph = nullptr;
  StepBuffer::Position begin = 0;
  size_t count = 0;   // steps
  uint64_t next = 0;  // where control went behind the last one
  FlowDigest digest;  // of all its instructions
  uint64_t tsc = 0;   // the latest one known then
  bool in_transaction = false;
  const ThreadStay* stay = nullptr;

  // Of its first steps as many as have no more than so many instructions; the rest is left.
  BlockStretch TakeFirst(const StepBuffer& steps, uint64_t instructions);
  // Its first step. REQUIRES: there is one.
  BlockRun TakeBlock(const StepBuffer& steps);
  // All of it, without bounds.
  BlockBatch Batch(const StepBuffer& steps) const;

 private:
  void Drop(const BlockStretch& first);
};

// Of a node's block the first `count` instructions, without times.
BlockRun RunOf(const BlockGraph& graph, uint32_t id, unsigned count);

}  // namespace flowback::pt
