// SPDX-License-Identifier: MIT
// What slow instances have in common by chance alone is no cause.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "tests/spikes/cause_data.h"
#include "tests/support/random.h"

namespace flowback {
namespace {

constexpr int kSeeds = 200;
constexpr int kMostFalse = kSeeds / 100;
constexpr int kInstances = 600;
constexpr int kBranches = 60;

// Instances whose branches go either way at random and whose loops make random numbers of trips.
// Which of them are slow has nothing to do with that.
template <class Plant>
CauseData Shuffled(uint64_t seed, int slow, const Plant& plant) {
  testing::Random random(seed);
  CauseData data;
  std::vector<int> order(kInstances);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  for (int i = 0; i < kInstances; ++i) {
    const bool is_slow = order[static_cast<size_t>(i)] < slow;
    std::map<uint32_t, uint64_t> counts;
    for (uint64_t branch = 0; branch < kBranches; ++branch) {
      const auto [taken, not_taken] = data.Branch(0x1000 + 0x40 * branch, branch % 3 == 0);
      const bool goes = random.Below(100) < 1 + branch * 97 / kBranches;
      const uint64_t trips = uint64_t{1} << random.Below(1 + branch % 8);
      counts[goes ? taken : not_taken] = branch % 3 == 0 ? trips + random.Below(trips) : 1;
    }
    plant(data, is_slow, counts);
    data.Add(is_slow, {{PathTree::kRoot, CostOf(1, is_slow ? 90'000 : 1000)}}, counts);
  }
  return data;
}

int FalseAnswers(int slow) {
  int answers = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto plant_none = [](CauseData&, bool, std::map<uint32_t, uint64_t>&) {};
    const Causes causes = Shuffled(seed, slow, plant_none).Find();
    answers += std::ranges::any_of(causes.parts, [](const Cause& cause) {
      return cause.kind == CauseKind::kBranch || cause.kind == CauseKind::kTrips;
    });
  }
  return answers;
}

TEST(Noise, IsNoCauseOfFewSlowInstances) { EXPECT_LE(FalseAnswers(3), kMostFalse); }
TEST(Noise, IsNoCauseOfSomeSlowInstances) { EXPECT_LE(FalseAnswers(7), kMostFalse); }
TEST(Noise, IsNoCauseOfManySlowInstances) { EXPECT_LE(FalseAnswers(60), kMostFalse); }

// The same data with a branch that does go with slowness.
TEST(Noise, DoesNotHideACause) {
  const auto plant = [](CauseData& data, bool is_slow, std::map<uint32_t, uint64_t>& counts) {
    const auto [taken, not_taken] = data.Branch(0x9000);
    counts[is_slow ? taken : not_taken] = 1;
  };
  CauseData data = Shuffled(1, 7, plant);
  const Cause cause = data.Find().parts.at(0);
  ASSERT_EQ(cause.kind, CauseKind::kBranch);
  EXPECT_EQ(data.branches.edges()[cause.edge].address, 0x9000);
  EXPECT_TRUE(data.branches.edges()[cause.edge].taken);
}

}  // namespace
}  // namespace flowback
