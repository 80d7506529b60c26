// SPDX-License-Identifier: MIT
#include "replay/branches/branch_ranks.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace flowback {
namespace {

uint64_t ValueOf(const BranchSum& sum, BranchRank rank) {
  switch (rank) {
    case BranchRank::kHottest:
      return sum.executed();
    case BranchRank::kMispredicted:
      return sum.taken.wrong;
    case BranchRank::kSlowest:
      return sum.taken.cycles.sum();
  }
  return 0;
}

}  // namespace

std::vector<const BranchSum*> Ranked(const BranchReport& report, BranchRank rank, size_t most) {
  std::vector<std::pair<uint64_t, const BranchSum*>> all;
  for (const BranchSum& sum : report.branches)
    if (const uint64_t value = ValueOf(sum, rank); value != 0) all.emplace_back(value, &sum);
  std::ranges::stable_sort(all, std::greater{}, [](const auto& each) { return each.first; });
  std::vector<const BranchSum*> ranked;
  for (const auto& [value, sum] : all)
    if (ranked.size() < most) ranked.push_back(sum);
  return ranked;
}

const CodePlace& MainTarget(const BranchSum& sum) {
  return std::ranges::max_element(sum.edges, {}, [](const auto& edge) { return edge.second.times; })
      ->first;
}

}  // namespace flowback
