// SPDX-License-Identifier: MIT
// The call paths that a page of spikes has: those that weigh enough to be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/spikes/spikes.h"

namespace flowback {

// A path of the page; or all those below `parent` that are too small, together.
struct PagePath {
  uint32_t parent = 0;  // a place in PagePaths::paths; of the first, itself
  uint32_t node = 0;    // in SpikeReport::paths
  bool is_rest = false;
};

struct PagePaths {
  static constexpr size_t kMost = 4000;
  static constexpr size_t kMostTrees = 50;  // slow instances whose trees a page has
  // A path with less than this share of the time, cycles and instructions is too small, everywhere.
  static constexpr double kLeastShare = 1.0 / 2000;

  std::vector<PagePath> paths;     // a parent stands before its children
  std::vector<uint32_t> place_of;  // by node of the report: the path that has its cost

  // Returns what the nodes of `costs` cost, by path: nothing is left out. `costs` is by node.
  std::vector<PathCost> Sum(const std::vector<PathCost>& costs) const;
};

// Returns the costs by node.
std::vector<PathCost> CostsByNode(const SpikeReport& report, const GroupSums& sums);
std::vector<PathCost> CostsByNode(const SpikeReport& report, const std::vector<NodeCost>& costs);

PagePaths ChoosePaths(const SpikeReport& report);

}  // namespace flowback
