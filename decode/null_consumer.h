// SPDX-License-Identifier: MIT
// A consumer that listens to nothing: for decoders that read on in silence.
#pragma once

#include "flowback/model/execution.h"

namespace flowback {

class NullConsumer final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun&) override {}
  void OnBlocks(const BlockBatch&) override {}
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
};

}  // namespace flowback
