// SPDX-License-Identifier: MIT
#include "replay/writers/spikes/page_paths.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace flowback {
namespace {

// By node, the largest share that it and the nodes below it have of the time, cycles or
// instructions of a group or an instance.
class PathShares {
 public:
  explicit PathShares(const SpikeReport& report)
      : nodes_(report.paths.nodes()), shares_(nodes_.size()) {}

  void Add(std::vector<PathCost> costs) {
    for (size_t i = nodes_.size(); i-- > 1;) costs[nodes_[i].parent].Add(costs[i]);
    const auto share = [](uint64_t part, uint64_t whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const PathCost all = costs[PathTree::kRoot];
    for (size_t i = 0; i < costs.size(); ++i)
      shares_[i] =
          std::max({shares_[i], share(costs[i].instructions, all.instructions),
                    share(costs[i].time(), all.time()), share(costs[i].cycles, all.cycles)});
  }
  double operator[](uint32_t node) const { return shares_[node]; }

 private:
  const std::vector<InstancePath>& nodes_;
  std::vector<double> shares_;
};

PathShares SharesOf(const SpikeReport& report) {
  PathShares shares(report);
  shares.Add(CostsByNode(report, report.slow_sums));
  shares.Add(CostsByNode(report, report.normal_sums));
  shares.Add(CostsByNode(report, report.median_costs));
  const size_t trees = std::min(report.outliers.size(), PagePaths::kMostTrees);
  for (size_t i = 0; i < trees; ++i) shares.Add(CostsByNode(report, report.outliers[i].costs));
  return shares;
}

// Returns the nodes that are kept, in order: the root, and the largest. A node's parent is as
// large, and has a lower number, so that it is kept as well.
std::vector<uint32_t> LargestNodes(const SpikeReport& report) {
  const PathShares shares = SharesOf(report);
  std::vector<uint32_t> kept;
  for (uint32_t i = 1; i < report.paths.nodes().size(); ++i)
    if (shares[i] >= PagePaths::kLeastShare) kept.push_back(i);
  std::ranges::stable_sort(kept, std::greater<>(), [&](uint32_t node) { return shares[node]; });
  kept.resize(std::min(kept.size(), PagePaths::kMost - 1));
  kept.push_back(PathTree::kRoot);
  std::ranges::sort(kept);
  return kept;
}

}  // namespace

std::vector<PathCost> CostsByNode(const SpikeReport& report, const GroupSums& sums) {
  std::vector<PathCost> costs(report.paths.nodes().size());
  for (size_t i = 0; i < std::min(costs.size(), sums.paths.size()); ++i)
    costs[i] = sums.paths[i].cost;
  return costs;
}

std::vector<PathCost> CostsByNode(const SpikeReport& report, const std::vector<NodeCost>& some) {
  std::vector<PathCost> costs(report.paths.nodes().size());
  for (const NodeCost& each : some) costs[each.node] = each.cost;
  return costs;
}

std::vector<PathCost> PagePaths::Sum(const std::vector<PathCost>& costs) const {
  std::vector<PathCost> sums(paths.size());
  for (size_t i = 0; i < costs.size(); ++i) sums[place_of[i]].Add(costs[i]);
  return sums;
}

PagePaths ChoosePaths(const SpikeReport& report) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  const std::vector<InstancePath>& nodes = report.paths.nodes();
  PagePaths page;
  page.place_of.assign(nodes.size(), kNone);
  for (const uint32_t node : LargestNodes(report)) {
    page.place_of[node] = static_cast<uint32_t>(page.paths.size());
    page.paths.push_back({.parent = page.place_of[nodes[node].parent], .node = node});
  }
  std::unordered_map<uint32_t, uint32_t> rest_of;  // by the path above it
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (page.place_of[i] != kNone) continue;
    const uint32_t above = page.place_of[nodes[i].parent];
    if (page.paths[above].is_rest) {
      page.place_of[i] = above;
      continue;
    }
    const auto [rest, is_new] =
        rest_of.try_emplace(above, static_cast<uint32_t>(page.paths.size()));
    if (is_new) page.paths.push_back({.parent = above, .node = i, .is_rest = true});
    page.place_of[i] = rest->second;
  }
  return page;
}

}  // namespace flowback
