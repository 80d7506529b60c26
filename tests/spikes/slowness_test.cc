// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/slowness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "replay/spikes/causes/chance.h"

namespace flowback {
namespace {

using Values = std::vector<uint64_t>;

Slowness SlowOf(Values values, const SlowLimit& limit = {}) {
  std::ranges::sort(values);
  return FindSlow(values, limit);
}

// 100 values from `first` on.
Values Normal(uint64_t first) {
  Values values;
  for (uint64_t i = 0; i < 100; ++i) values.push_back(first + i);
  return values;
}

TEST(Slowness, CutsWhereValuesLieApart) {
  Values values = Normal(1000);
  for (const uint64_t spike : {5000, 9000, 7000}) values.push_back(spike);
  const Slowness found = SlowOf(values);
  EXPECT_EQ(found.reason, Slowness::Reason::kKnee);
  EXPECT_EQ(found.slow, 3);
  EXPECT_GE(found.threshold, 1099);
  EXPECT_LT(found.threshold, 5000);
}

TEST(Slowness, KeepsTheMultipleThatWasAskedFor) {
  EXPECT_EQ(SlowOf(Normal(1000), {.kind = SlowLimit::Kind::kMultiple, .share = 1.05}).multiple,
            1.05);
  EXPECT_EQ(SlowOf(Normal(1000), {.kind = SlowLimit::Kind::kValue, .value = 1050}).multiple, 0);
  EXPECT_EQ(SlowOf(Normal(1000)).multiple, 0);
}

TEST(Slowness, FindsOneSpikeAmongEqualValues) {
  Values values(500, 1000);
  values.push_back(1600);
  EXPECT_EQ(SlowOf(values).slow, 1);
}

TEST(Slowness, HasNoneWhereTheDistributionGoesOn) {
  EXPECT_EQ(SlowOf(Normal(100)).reason, Slowness::Reason::kNoKnee);
  Values wide;
  for (uint64_t i = 0; i < 1000; ++i) wide.push_back(1000 + i * 3);
  EXPECT_EQ(SlowOf(wide).slow, 0);
  EXPECT_EQ(SlowOf(wide).threshold, 0);
}

// A request that meets all that makes requests a bit longer is no spike.
TEST(Slowness, HasNoneInATailWithoutAGap) {
  Values values = Normal(1000);
  for (uint64_t value = 1150; value < 1800; value += 100) values.push_back(value);
  EXPECT_EQ(SlowOf(values).reason, Slowness::Reason::kNoKnee);
  EXPECT_EQ(SlowOf(values).slow, 0);
  values.push_back(2400);
  EXPECT_EQ(SlowOf(values).slow, 1);
}

TEST(Slowness, SaysWhyThereIsNone) {
  EXPECT_EQ(SlowOf({}).reason, Slowness::Reason::kTooFew);
  EXPECT_EQ(SlowOf({5}).reason, Slowness::Reason::kTooFew);
  EXPECT_EQ(SlowOf(Values(50, 7)).reason, Slowness::Reason::kAllEqual);
  EXPECT_EQ(SlowOf(Values(50, 0)).reason, Slowness::Reason::kAllEqual);
}

TEST(Slowness, TakesTheUsersLimit) {
  const Values values = Normal(1000);
  EXPECT_EQ(SlowOf(values, *SlowLimit::Parse("1089")).slow, 10);
  EXPECT_EQ(SlowOf(values, *SlowLimit::Parse("p95")).slow, 5);
  EXPECT_EQ(SlowOf(values, *SlowLimit::Parse("1.03x")).slow, 19);
  EXPECT_EQ(SlowLimit::Parse("5ms")->value, 5'000'000);
  EXPECT_EQ(SlowLimit::Parse("2.5us")->value, 2500);
  EXPECT_EQ(SlowLimit::Parse("1s")->value, 1'000'000'000);
}

TEST(Slowness, RefusesWhatIsNoLimit) {
  for (const char* word :
       {"", "fast", "p", "p100", "p-1", "-3x", "5 parsecs", "3xx", "nan", "1e300s"})
    EXPECT_FALSE(SlowLimit::Parse(word)) << word;
}

TEST(Slowness, QuantilesAreValuesThatAreThere) {
  const Distribution of = DistributionOf({1, 2, 3, 4});
  EXPECT_EQ(of.p50, 2);
  EXPECT_EQ(of.p99, 4);
  EXPECT_EQ(of.max, 4);
  EXPECT_EQ(DistributionOf({}).count, 0);
}

// The values are those of a table of the hypergeometric distribution.
TEST(Chance, IsFishersExactTest) {
  EXPECT_NEAR(ChanceOf(1, 1, 1, 600), 1.0 / 600, 1e-12);
  EXPECT_NEAR(ChanceOf(3, 3, 3, 6), 1.0 / 20, 1e-12);
  EXPECT_NEAR(ChanceOf(2, 3, 3, 6), 10.0 / 20, 1e-12);
  EXPECT_EQ(ChanceOf(0, 5, 10, 100), 1);
  EXPECT_EQ(ChanceOf(5, 5, 100, 100), 1);
}

}  // namespace
}  // namespace flowback
