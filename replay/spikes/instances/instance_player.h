// SPDX-License-Identifier: MIT
// Plays threads' flow and reports the instances in it: the cost of each, and the ways of its
// branches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/replay/player.h"
#include "flowback/replay/timeline.h"
#include "replay/calls/exec_times.h"
#include "replay/spikes/instances/branch_table.h"
#include "replay/spikes/instances/instance_teller.h"
#include "replay/spikes/instances/paired_regions.h"
#include "replay/spikes/instances/program_regions.h"
#include "replay/spikes/instances/region_places.h"
#include "replay/timeline/thread_times.h"

namespace flowback {

// Receives the branches of instances whose detail is wanted, after OnInstance.
class BranchSink {
 public:
  virtual ~BranchSink() = default;
  // Whether each branch of that instance is wanted, in order.
  virtual bool WantsSteps(uint32_t /*number*/) { return false; }
  // Returns whether further ones are wanted.
  virtual bool OnStep(uint32_t /*number*/, uint32_t /*edge*/) { return false; }
  virtual void OnBranches(uint32_t number, const BranchCounts& counts) = 0;
};

class InstancePlayer final : public PlayConsumer {
 public:
  // `accounts` are those of the flows that are played. `places` may be null: instances are calls.
  // All of it must outlive this.
  InstancePlayer(const InstancePlan& plan, const TimelineSources& sources,
                 std::vector<const TimeAccount*> accounts, const RegionPlaces* places,
                 BranchTable& branches, BranchSink& sink);

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;

  // As InstanceTeller's, of all threads.
  uint64_t overlapping() const { return overlapping_; }
  // Losses in the flow, wherever they lie.
  std::vector<LossSum> TakeLosses() { return losses_.Take(); }

 private:
  void Mark(const BlockRun& run);
  void MarkPairs(const BlockRun& run);
  void NoteCycles(uint64_t behind, const CycleMark& mark);
  void CountSteps(const BlockBatch& batch, uint64_t begin);
  void CountRun(const BlockRun& run);
  void Count(uint32_t edge);
  void Pass(const InstanceMark& mark);
  void PassUpTo(uint64_t position);
  void TakeMarks();

  const InstancePlan& plan_;
  const TimelineSources& sources_;
  const std::vector<const TimeAccount*> accounts_;
  const RegionPlaces* const places_;
  BranchTable& branches_;
  BranchSink& sink_;
  const RecordingClock clock_;
  std::optional<ExecTimes> execs_;
  std::optional<InstanceTeller> teller_;
  std::optional<RegionRelay> relay_;  // where the plan has regions
  std::optional<CallStack> stack_;
  // The regions that the thread ends.
  const std::vector<PairedRegion>* pairs_ = nullptr;
  size_t next_pair_ = 0;
  bool pair_open_ = false;
  LossSums losses_;
  uint64_t instructions_ = 0;  // of the thread
  uint32_t next_ = 0;          // number of an instance
  uint64_t overlapping_ = 0;
  // Where the counting of branches is.
  std::vector<InstanceMark> marks_;
  size_t next_mark_ = 0;
  BranchCounts counts_;
  uint32_t counted_ = 0;  // the instance
  bool counting_ = false;
  bool stepping_ = false;
};

}  // namespace flowback
