// SPDX-License-Identifier: MIT
// Consumers that keep sums of a flow only. They use nothing of the decoders' own sums.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/flow_digest.h"
#include "flowback/model/execution.h"

namespace flowback {

// All instructions of the run.
inline void AppendRun(const BlockRun& run, FlowDigest& digest) {
  uint64_t ip = run.address;
  for (const uint8_t length : run.lengths) {
    digest.Append(ip);
    ip += length;
  }
}

// Counts the instructions, and looks at nothing else.
class FlowCounter final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { count_ += run.lengths.size(); }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
};

// The digest of the flow, and its losses.
class FlowDigester final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { AppendRun(run, digest_); }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { losses_.push_back(loss); }

  const FlowDigest& digest() const { return digest_; }
  uint64_t count() const { return digest_.count; }
  const std::vector<DataLoss>& losses() const { return losses_; }

 private:
  FlowDigest digest_;
  std::vector<DataLoss> losses_;
};

}  // namespace flowback
