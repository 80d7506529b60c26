// SPDX-License-Identifier: MIT
// A whole flow kept in memory, for tests that look at each instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/execution.h"

namespace flowback::golden {

class FlowList final : public ExecutionConsumer {
 public:
  // A loss, and how many instructions came before it.
  struct Break {
    DataLoss loss;
    size_t instructions_before = 0;
  };
  struct Mark {
    TraceEvent event;
    size_t instructions_before = 0;
  };

  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      addresses.push_back(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent& event) override { events.push_back({event, addresses.size()}); }
  void OnLoss(const DataLoss& loss) override { losses.push_back({loss, addresses.size()}); }

  std::vector<uint64_t> addresses;
  std::vector<Break> losses;
  std::vector<Mark> events;
};

}  // namespace flowback::golden
