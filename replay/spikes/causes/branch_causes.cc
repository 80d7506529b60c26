// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/branch_causes.h"

#include <algorithm>
#include <optional>

#include "replay/spikes/causes/chance.h"

namespace flowback {
namespace {

// So likely a rare direction may be by chance, with all edges of the function tried.
constexpr double kMostChance = 0.01;
// With no more slow instances than that no chance is small: then all slow ones must have it, and no
// normal one.
constexpr uint64_t kFew = 3;
// A loop made more trips if their mean grew by this factor, and by this number, at least.
constexpr double kMoreTrips = 1.5;
constexpr double kLeastTrips = 4;
// More instructions are the reason for more time if they grew so much.
constexpr double kMoreInstructions = 1.2;

double MeanOf(const GroupSums& sums, uint32_t edge) {
  return static_cast<double>(sums.Branch(edge).count) /
         static_cast<double>(std::max<uint64_t>(sums.instances, 1));
}

// Returns the probability that instances drawn at random make as many trips as the slow ones, at
// the size of count that tells them apart best.
double ChanceOfTrips(const CauseInput& input, uint32_t edge) {
  const WaySums slow = input.slow.Branch(edge);
  const WaySums normal = input.normal.Branch(edge);
  double least = 1;
  for (size_t size = 1; size < slow.sizes.size(); ++size) {
    if (slow.sizes[size] == 0) continue;
    const uint64_t hits = slow.AtLeast(size);
    least = std::min(least, ChanceOf(hits, input.slow.instances, hits + normal.AtLeast(size),
                                     input.slow.instances + input.normal.instances));
  }
  return least;
}

bool IsByChance(const CauseInput& input, uint32_t edge, size_t edges) {
  const WaySums slow = input.slow.Branch(edge);
  const WaySums normal = input.normal.Branch(edge);
  if (input.slow.instances <= kFew)
    return slow.instances < input.slow.instances || slow.least <= normal.most;
  const auto tried = static_cast<double>(edges * slow.sizes.size());
  return ChanceOfTrips(input, edge) * tried > kMostChance;
}

struct Rare {
  uint32_t edge = BranchTable::kNoEdge;
  double chance = 1;
  uint64_t reached = 0;  // normal instances that came to the branch
};

// The directions that slow instances took and normal ones, which came to the branch as well, did
// not.
class RareWays {
 public:
  // With `set`: those that just these instances went.
  RareWays(const CauseInput& input, const std::optional<InstanceSet>& set)
      : input_(input), set_(set) {}

  Rare Best(const std::vector<uint32_t>& edges) const {
    Rare best;
    for (const uint32_t edge : edges) {
      const Rare rare = Of(edge, edges.size());
      if (rare.edge != BranchTable::kNoEdge && IsBetter(rare, best)) best = rare;
    }
    return best;
  }

 private:
  Rare Of(uint32_t edge, size_t tried) const {
    const BranchWay& of = input_.branches.edges()[edge];
    const uint64_t slow = input_.slow.Branch(edge).instances;
    const uint64_t normal = input_.normal.Branch(edge).instances;
    const uint64_t reached =
        of.other == BranchTable::kNoEdge ? 0 : input_.normal.Branch(of.other).instances;
    if (slow == 0 || of.indirect || 2 * reached < input_.normal.instances) return {};
    if (static_cast<double>(normal) > kRareShare * static_cast<double>(input_.normal.instances))
      return {};
    if (set_ && SetOfWay(input_, edge) != *set_) return {};
    const double chance = ChanceOf(slow, input_.slow.instances, slow + normal,
                                   input_.slow.instances + input_.normal.instances);
    const bool few = input_.slow.instances <= kFew && slow == input_.slow.instances && normal == 0;
    if (!few && chance * static_cast<double>(tried) > kMostChance) return {};
    return {.edge = edge, .chance = chance, .reached = reached};
  }
  // The less likely one; of those alike the one that comes first in the code.
  bool IsBetter(const Rare& a, const Rare& b) const {
    if (b.edge == BranchTable::kNoEdge) return true;
    if (a.chance != b.chance) return a.chance < b.chance;
    if (a.reached != b.reached) return a.reached > b.reached;
    return input_.branches.edges()[a.edge].address < input_.branches.edges()[b.edge].address;
  }

  const CauseInput& input_;
  const std::optional<InstanceSet> set_;
};

void TakeCounts(const CauseInput& input, uint32_t edge, Cause& cause) {
  const WaySums slow = input.slow.Branch(edge);
  const WaySums normal = input.normal.Branch(edge);
  cause.slow_with = slow.instances;
  cause.normal_with = normal.instances;
  cause.slow_count = MeanOf(input.slow, edge);
  cause.normal_count = MeanOf(input.normal, edge);
}

double OwnInstructions(const GroupSums& sums, uint32_t node) {
  return static_cast<double>(sums.Path(node).cost.instructions) /
         static_cast<double>(std::max<uint64_t>(sums.instances, 1));
}

}  // namespace

uint32_t LoopOf(const CauseInput& input, uint32_t node) {
  uint32_t best = BranchTable::kNoEdge;
  double most = 0;
  for (const uint32_t edge : input.edges_of(node)) {
    const double slow = MeanOf(input.slow, edge);
    const double normal = MeanOf(input.normal, edge);
    if (slow < kMoreTrips * normal || slow < normal + kLeastTrips) continue;
    // The branch back to the loop's begin counts its trips; others in it may count as many.
    const double weight = (slow - normal) * (input.branches.edges()[edge].IsBackward() ? 2 : 1);
    if (weight <= most || IsByChance(input, edge, input.edges_of(node).size())) continue;
    most = weight;
    best = edge;
  }
  return best;
}

InstanceSet SetOfWay(const CauseInput& input, uint32_t edge) {
  return {.slow = input.slow.Branch(edge).which, .normal = input.normal.Branch(edge).which};
}

uint32_t WayOfSet(const CauseInput& input, uint32_t node, const InstanceSet& set) {
  return RareWays(input, set).Best(input.edges_of(node)).edge;
}

void TakeWay(const CauseInput& input, uint32_t edge, Cause& cause) {
  cause.kind = CauseKind::kBranch;
  cause.edge = edge;
  TakeCounts(input, edge, cause);
  cause.chance =
      ChanceOf(cause.slow_with, input.slow.instances, cause.slow_with + cause.normal_with,
               input.slow.instances + input.normal.instances);
}

void ExplainOwn(const CauseInput& input, Cause& cause) {
  const double slow = OwnInstructions(input.slow, cause.node);
  const double normal = OwnInstructions(input.normal, cause.node);
  if (slow < kMoreInstructions * normal || slow < normal + 1) {
    cause.kind = CauseKind::kSlower;
    return;
  }
  cause.kind = CauseKind::kInstructions;
  cause.slow_count = slow;
  cause.normal_count = normal;
  const uint32_t loop = LoopOf(input, cause.node);
  // Where there is a loop, the way to it is looked for.
  std::optional<InstanceSet> set;
  if (loop != BranchTable::kNoEdge) set = SetOfWay(input, loop);
  const Rare rare = RareWays(input, set).Best(input.edges_of(cause.node));
  if (rare.edge != BranchTable::kNoEdge) {
    TakeWay(input, rare.edge, cause);
    cause.loop = loop;
  } else if (loop != BranchTable::kNoEdge) {
    cause.kind = CauseKind::kTrips;
    cause.edge = loop;
    TakeCounts(input, loop, cause);
  }
}

}  // namespace flowback
