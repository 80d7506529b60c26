// SPDX-License-Identifier: MIT
#include "replay/spikes/nearest.h"

#include <algorithm>
#include <cstddef>

namespace flowback {
namespace {

constexpr size_t kMostCandidates = 64;

// Returns how unlike two instances are: for each edge, by how much of its count they differ.
double DistanceOf(const KeptInstance& a, const KeptInstance& b) {
  double distance = 0;
  auto at = b.branches.begin();
  for (const auto& [edge, count] : a.branches) {
    for (; at != b.branches.end() && at->first < edge; ++at) distance += 1;
    const bool both = at != b.branches.end() && at->first == edge;
    const auto here = static_cast<double>(count);
    const double there = both ? static_cast<double>(at++->second) : 0;
    distance += (std::max(here, there) - std::min(here, there)) / std::max(here, there);
  }
  return distance + static_cast<double>(std::distance(at, b.branches.end()));
}

}  // namespace

std::vector<uint32_t> CandidatesOf(const std::vector<uint32_t>& normal) {
  if (normal.size() <= kMostCandidates) return normal;
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < kMostCandidates; ++i)
    chosen.push_back(normal[i * (normal.size() - 1) / (kMostCandidates - 1)]);
  return chosen;
}

uint32_t NearestOf(const KeptInstance& instance, const std::vector<uint32_t>& candidates,
                   const InstanceGroups& groups) {
  return *std::ranges::min_element(candidates, {}, [&](uint32_t candidate) {
    return DistanceOf(instance, *groups.Kept(candidate));
  });
}

Parting PartingOf(const KeptInstance& instance, const KeptInstance& other) {
  const auto [here, there] = std::ranges::mismatch(instance.steps, other.steps);
  Parting parting{.after = static_cast<uint64_t>(here - instance.steps.begin())};
  const bool is_end = here == instance.steps.end() && there == other.steps.end();
  parting.is_cut = (here == instance.steps.end() && instance.steps_cut) ||
                   (there == other.steps.end() && other.steps_cut) || is_end;
  if (here != instance.steps.end()) parting.edge = *here;
  if (there != other.steps.end()) parting.other = *there;
  return parting;
}

}  // namespace flowback
