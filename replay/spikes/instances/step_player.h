// SPDX-License-Identifier: MIT
// Plays threads' flow and reports each branch of a few instances, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/player.h"
#include "replay/spikes/instances/branch_table.h"
#include "replay/spikes/instances/instance_player.h"

namespace flowback {

class StepPlayer final : public PlayConsumer {
 public:
  // `numbers`: of those instances; they have been measured. All of it must outlive this.
  StepPlayer(const std::vector<Instance>& instances, const std::vector<uint32_t>& numbers,
             BranchTable& branches, BranchSink& sink);

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& /*event*/) override {}
  void OnLoss(const DataLoss& /*loss*/) override {}

 private:
  // Instructions of a thread, half-open.
  struct Stretch {
    uint32_t thread = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t number = 0;
  };

  bool Comes(uint64_t begin, uint64_t end);
  void Step(uint64_t position, uint32_t edge);

  std::vector<Stretch> stretches_;  // by thread and begin
  BranchTable& branches_;
  BranchSink& sink_;
  size_t next_ = 0;     // the stretch that the thread is in or comes to
  size_t end_ = 0;      // behind the thread's last one
  bool wanted_ = true;  // further steps of that stretch
  uint64_t instructions_ = 0;
};

}  // namespace flowback
