// SPDX-License-Identifier: MIT
// Sums over the slow instances and over the normal ones, by call path and by branch, and all of
// those instances that are shown one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "replay/spikes/instances/branch_table.h"
#include "replay/spikes/instances/instance_player.h"
#include "replay/spikes/instances/instance_teller.h"
#include "replay/spikes/instances/path_tree.h"

namespace flowback {

enum class InstanceGroup : uint8_t { kNormal, kSlow, kOther };
inline constexpr size_t kComparedGroups = 2;  // the first two; the others are not compared

// Over the instances of a group.
struct PathSums {
  uint64_t instances = 0;  // that came there
  PathCost cost;
  uint64_t which = 0;  // as WaySums::which
};

struct WaySums {
  // Counts by size: two steps for each doubling.
  static constexpr size_t kSizes = 64;
  static size_t SizeOf(uint64_t count);

  uint64_t instances = 0;       // that went that way
  uint64_t count = 0;           // how often, all of them together
  uint64_t least = UINT64_MAX;  // of those that went there
  uint64_t most = 0;
  // Which instances those are: the same for two ways that the same instances went, and hardly ever
  // the same for others.
  uint64_t which = 0;
  std::vector<uint32_t> sizes;  // instances by SizeOf their count; empty: each has gone there once

  // Returns how many instances have a count of that size or a larger one. REQUIRES: size > 0.
  uint64_t AtLeast(size_t size) const;
};

// What the instances of a group did.
struct GroupSums {
  uint64_t instances = 0;
  std::vector<PathSums> paths;    // by node; those that are missing are zeros
  std::vector<WaySums> branches;  // by edge

  PathSums Path(uint32_t node) const { return node < paths.size() ? paths[node] : PathSums{}; }
  WaySums Branch(uint32_t edge) const {
    return edge < branches.size() ? branches[edge] : WaySums{};
  }
  void Add(uint32_t node, const PathCost& cost, uint32_t number);
  void Add(uint32_t edge, uint64_t count, uint32_t number);
};

// One that is shown: what it spent in each path, how often it took each edge, and its first edges.
struct KeptInstance {
  static constexpr size_t kMostSteps = size_t{1} << 18;

  std::map<uint32_t, PathCost> paths;     // by node
  std::map<uint32_t, uint64_t> branches;  // by edge
  std::vector<uint32_t> steps;
  bool steps_cut = false;

  // As a group of one.
  GroupSums Alone() const;
};

class InstanceGroups final : public InstanceSink, public BranchSink {
 public:
  // `groups`: of each instance, by number; those beyond are not compared. `kept`: the numbers of
  // those that are shown.
  InstanceGroups(std::vector<InstanceGroup> groups, const std::vector<uint32_t>& kept);

  bool WantsDetail(uint32_t number) override { return IsCompared(number); }
  void OnInstance(uint32_t number, const Instance& instance, const PathCosts& costs) override;
  bool WantsSteps(uint32_t number) override { return kept_.contains(number); }
  bool OnStep(uint32_t number, uint32_t edge) override;
  void OnBranches(uint32_t number, const BranchCounts& counts) override;

  const GroupSums& Of(InstanceGroup group) const { return sums_[static_cast<size_t>(group)]; }
  // Null: it is not shown.
  const KeptInstance* Kept(uint32_t number) const;

 private:
  bool IsCompared(uint32_t number) const {
    return number < groups_.size() && groups_[number] != InstanceGroup::kOther;
  }

  std::vector<InstanceGroup> groups_;
  std::array<GroupSums, kComparedGroups> sums_;
  std::map<uint32_t, KeptInstance> kept_;
};

}  // namespace flowback
