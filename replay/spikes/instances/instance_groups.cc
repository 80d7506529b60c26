// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/instance_groups.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/mix_bits.h"

namespace flowback {
namespace {

// A number with bits as good as random: sums of these tell sets of instances apart.
uint64_t SignOf(uint32_t number) {
  const uint64_t once = MixBits(uint64_t{number} + 1);
  const uint64_t twice = MixBits(once ^ once >> 32);
  return twice ^ twice >> 32;
}

}  // namespace

void GroupSums::Add(uint32_t node, const PathCost& cost, uint32_t number) {
  if (node >= paths.size()) paths.resize(node + size_t{1});
  ++paths[node].instances;
  paths[node].cost.Add(cost);
  paths[node].which += SignOf(number);
}

void GroupSums::Add(uint32_t edge, uint64_t count, uint32_t number) {
  if (edge >= branches.size()) branches.resize(edge + size_t{1});
  WaySums& sum = branches[edge];
  ++sum.instances;
  sum.count += count;
  sum.least = std::min(sum.least, count);
  sum.most = std::max(sum.most, count);
  sum.which += SignOf(number);
  if (count < 2) return;
  sum.sizes.resize(WaySums::kSizes);
  ++sum.sizes[WaySums::SizeOf(count)];
}

size_t WaySums::SizeOf(uint64_t count) {
  if (count < 2) return 0;
  const auto width = static_cast<size_t>(std::bit_width(count));
  const bool upper = (count >> (width - 2) & 1) != 0;
  return std::min(2 * (width - 1) + (upper ? 1 : 0), kSizes - 1);
}

uint64_t WaySums::AtLeast(size_t size) const {
  uint64_t sum = 0;
  for (size_t i = size; i < sizes.size(); ++i) sum += sizes[i];
  return sum;
}

GroupSums KeptInstance::Alone() const {
  GroupSums sums{.instances = 1, .paths = {}, .branches = {}};
  for (const auto& [node, cost] : paths) sums.Add(node, cost, 0);
  for (const auto& [edge, count] : branches) sums.Add(edge, count, 0);
  return sums;
}

InstanceGroups::InstanceGroups(std::vector<InstanceGroup> groups, const std::vector<uint32_t>& kept)
    : groups_(std::move(groups)) {
  for (const InstanceGroup group : groups_)
    if (group != InstanceGroup::kOther) ++sums_[static_cast<size_t>(group)].instances;
  for (const uint32_t number : kept) kept_[number];
}

void InstanceGroups::OnInstance(uint32_t number, const Instance&, const PathCosts& costs) {
  if (!IsCompared(number)) return;
  GroupSums& sums = sums_[static_cast<size_t>(groups_[number])];
  const auto kept = kept_.find(number);
  for (const uint32_t node : costs.touched()) {
    sums.Add(node, costs[node], number);
    if (kept != kept_.end()) kept->second.paths[node] = costs[node];
  }
}

bool InstanceGroups::OnStep(uint32_t number, uint32_t edge) {
  KeptInstance& kept = kept_[number];
  kept.steps_cut = kept.steps.size() >= KeptInstance::kMostSteps;
  if (!kept.steps_cut) kept.steps.push_back(edge);
  return !kept.steps_cut;
}

void InstanceGroups::OnBranches(uint32_t number, const BranchCounts& counts) {
  if (!IsCompared(number)) return;
  GroupSums& sums = sums_[static_cast<size_t>(groups_[number])];
  const auto kept = kept_.find(number);
  for (const uint32_t edge : counts.touched()) {
    sums.Add(edge, counts[edge], number);
    if (kept != kept_.end()) kept->second.branches[edge] = counts[edge];
  }
}

const KeptInstance* InstanceGroups::Kept(uint32_t number) const {
  const auto found = kept_.find(number);
  return found == kept_.end() ? nullptr : &found->second;
}

}  // namespace flowback
