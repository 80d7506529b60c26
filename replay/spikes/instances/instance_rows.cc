// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/instance_rows.h"

#include <utility>

namespace flowback {
namespace {

// A bit for each class that has some.
void WriteTimes(const ClassTimes& times, NumberWriter& out) {
  uint64_t classes = 0;
  for (size_t i = 0; i < times.size(); ++i) classes |= uint64_t{times[i] != 0} << i;
  out.Number(classes);
  for (const uint64_t time : times)
    if (time != 0) out.Number(time);
}

void ReadTimes(NumberReader& in, ClassTimes& times) {
  const uint64_t classes = in.Number();
  for (size_t i = 0; i < times.size(); ++i)
    if ((classes >> i & 1) != 0) times[i] = in.Number();
}

void ReadCosts(NumberReader& in, PathCosts& costs) {
  costs.Clear();
  uint64_t node = 0;
  for (uint64_t left = in.Number(); left > 0; --left) {
    node = in.Distance(node);
    PathCost& cost = costs.Of(static_cast<uint32_t>(node));
    cost.entries = in.Number();
    cost.instructions = in.Number();
    cost.cycles = in.Number();
    ReadTimes(in, cost.times);
  }
}

void ReadCounts(NumberReader& in, BranchCounts& counts) {
  counts.Clear();
  uint64_t edge = 0;
  for (uint64_t left = in.Number(); left > 0; --left) {
    edge = in.Distance(edge);
    counts.Add(static_cast<uint32_t>(edge), in.Number());
  }
}

}  // namespace

void InstanceRows::OnInstance(uint32_t number, const Instance& instance, const PathCosts& costs) {
  if (instances_.size() >= most_instances_) {
    ++left_out_;
    return;
  }
  instances_.push_back(instance);
  if (instance.is_divided()) Drop();
  if (!WantsDetail(number)) return;
  costs_.Number(costs.touched().size());
  uint64_t before = 0;
  for (const uint32_t node : costs.touched()) {
    costs_.Distance(std::exchange(before, node), node);
    costs_.Number(costs[node].entries);
    costs_.Number(costs[node].instructions);
    costs_.Number(costs[node].cycles);
    WriteTimes(costs[node].times, costs_);
  }
  DropIfLarge();
}

void InstanceRows::OnBranches(uint32_t number, const BranchCounts& counts) {
  if (!WantsDetail(number)) return;
  branches_.Number(counts.touched().size());
  uint64_t before = 0;
  for (const uint32_t edge : counts.touched()) {
    branches_.Distance(std::exchange(before, edge), edge);
    branches_.Number(counts[edge]);
  }
  DropIfLarge();
}

void InstanceRows::DropIfLarge() {
  if (costs_.bytes().size() + branches_.bytes().size() > most_bytes_) Drop();
}

void InstanceRows::Drop() {
  complete_ = false;
  costs_ = {};
  branches_ = {};
}

void InstanceRows::TellAgain(const std::vector<Instance>& instances, InstanceGroups& groups) const {
  NumberReader costs_in(costs_.bytes());
  NumberReader branches_in(branches_.bytes());
  PathCosts costs;
  BranchCounts counts;
  for (uint32_t number = 0; number < instances.size(); ++number) {
    ReadCosts(costs_in, costs);
    ReadCounts(branches_in, counts);
    groups.OnInstance(number, instances[number], costs);
    groups.OnBranches(number, counts);
  }
}

}  // namespace flowback
