// SPDX-License-Identifier: MIT
// Flow as branch stacks: branches that were taken one after the other, at most kDepth in a stack.
// In a recording of all branches, each stack continues where the stack before ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/player.h"

namespace flowback {

//
// Branches of an emulated recording have no cycles: an emulator's are ticks of its clock, and who
// reads stacks takes them for a processor's.
class FlowStacks : public PlayConsumer {
 public:
  explicit FlowStacks(const Recording& recording) : emulated_(recording.machine.emulated) {}
  void OnThreadBegin(const ThreadFlow& thread, size_t number) final;
  void OnThreadEnd(const ThreadFlow&, size_t) final { Flush(); }
  void OnBlock(const BlockRun& run) final;
  void OnBranches(std::span<const TakenBranch> branches, uint64_t tsc) final;
  void OnEvent(const TraceEvent& event) final;
  void OnLoss(const DataLoss& loss) final;
  void OnUnknown(const UnknownFlow&) final { Flush(); }

 protected:
  // Receives a stack. `tsc` is the last time that was known; 0: none.
  virtual void Take(const ThreadFlow& thread, uint64_t tsc,
                    std::span<const TakenBranch> oldest_first) = 0;
  virtual void Lose(const DataLoss& loss) = 0;

 private:
  static constexpr size_t kDepth = 64;

  void Append(std::span<const TakenBranch> branches);
  void Flush();

  const bool emulated_;
  const ThreadFlow* thread_ = nullptr;
  std::vector<TakenBranch> stack_;  // the oldest first
  uint64_t tsc_ = 0;
};

}  // namespace flowback
