// SPDX-License-Identifier: MIT
#include "flowback/model/block_batch.h"

namespace flowback {

void ExecutionConsumer::OnBlocks(const BlockBatch& batch) {
  for (BlockRuns runs(batch); runs.Next();) {
    OnBlock(runs.run());
    if (Done()) return;
  }
}

}  // namespace flowback
