// SPDX-License-Identifier: MIT
// Every instance as a row: what it spent in each path and how often it took each edge. With the
// rows of all instances it does not matter that nobody knows which ones are slow until the last of
// them has ended: they are summed up then, and the flow is followed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/number_bytes.h"
#include "replay/spikes/instances/instance_groups.h"
#include "replay/spikes/instances/instance_player.h"
#include "replay/spikes/instances/instance_teller.h"

namespace flowback {

class InstanceRows final : public InstanceSink, public BranchSink {
 public:
  // `most_instances`: those beyond are counted only. Rows of more than `most_bytes` are dropped,
  // and no more are made; the same where an instance is divided, whose branches StepPlayer can't
  // find again.
  InstanceRows(size_t most_instances, size_t most_bytes)
      : most_instances_(most_instances), most_bytes_(most_bytes) {}

  bool WantsDetail(uint32_t number) override { return complete_ && number < most_instances_; }
  void OnInstance(uint32_t number, const Instance& instance, const PathCosts& costs) override;
  void OnBranches(uint32_t number, const BranchCounts& counts) override;

  // Returns all instances, by number; once.
  std::vector<Instance> TakeInstances() { return std::move(instances_); }
  uint64_t left_out() const { return left_out_; }
  // Whether there is a row of each instance.
  bool complete() const { return complete_; }
  // Reports to the groups as a pass over the flow would, without the steps. REQUIRES: complete().
  void TellAgain(const std::vector<Instance>& instances, InstanceGroups& groups) const;

 private:
  void DropIfLarge();
  void Drop();

  const size_t most_instances_;
  const size_t most_bytes_;
  std::vector<Instance> instances_;
  uint64_t left_out_ = 0;
  bool complete_ = true;
  // By number; an instance has ended before its branches have been counted.
  NumberWriter costs_;
  NumberWriter branches_;
};

}  // namespace flowback
