// SPDX-License-Identifier: MIT
// Sums of counts are equal in whatever order and groups they are made.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/coverage/random_counts.h"

namespace flowback::testing {
namespace {

// Adds `parts` from left to right, or the sums of two groups of them, of two groups, ...
CoverageCounts Sum(const std::vector<CoverageCounts>& parts, std::mt19937_64& random) {
  if (parts.size() == 1 || random() % 3 == 0) {
    CoverageCounts sum;
    for (const CoverageCounts& part : parts) sum.Add(part);
    return sum;
  }
  const auto cut = parts.begin() + static_cast<ptrdiff_t>(1 + random() % (parts.size() - 1));
  CoverageCounts sum = Sum({parts.begin(), cut}, random);
  sum.Add(Sum({cut, parts.end()}, random));
  return sum;
}

TEST(AddingCounts, IsEqualInAnyOrderAndGroups) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<CoverageCounts> parts;
    for (uint64_t i = 0; i < 2 + seed % 9; ++i) parts.push_back(RandomCounts(seed * 100 + i));
    const CoverageCounts sum = Sum(parts, random);
    for (int i = 0; i < 4; ++i) {
      std::ranges::shuffle(parts, random);
      ASSERT_EQ(Sum(parts, random), sum) << "seed " << seed;
    }
  }
}

TEST(AddingCounts, OfItselfIsTwice) {
  CoverageCounts counts = RandomCounts(12);
  CoverageCounts twice = counts;
  twice.Add(counts);
  counts.Add(counts);
  EXPECT_EQ(counts, twice);
}

TEST(AddingCounts, KeepsTheSmallestPathAndRenumbersTargets) {
  CoverageCounts a;
  a.recordings = 1;
  a.objects.resize(1);
  a.objects[0].id = {.path = "/usr/lib/x", .build_id = {{9}}};
  a.objects[0].instructions = {{16, 3, 2}};
  a.objects[0].targets = {{16, InstructionClass::kCall, 0, 32, 3}};
  CoverageCounts b = a;
  b.objects[0].id.path = "/lib/x";
  ObjectCounts before;
  before.id = {.path = "/bin/y", .build_id = {{1}}};
  b.objects.insert(b.objects.begin(), before);
  b.objects[1].targets[0].object = 1;
  a.Add(b);
  ASSERT_EQ(a.objects.size(), 2u);
  EXPECT_EQ(a.objects[1].id.path, "/lib/x");
  EXPECT_EQ(a.objects[1].instructions, (std::vector<InstructionCount>{{16, 6, 2}}));
  EXPECT_EQ(a.objects[1].targets,
            (std::vector<TargetCount>{{16, InstructionClass::kCall, 1, 32, 6}}));
}

}  // namespace
}  // namespace flowback::testing
