// SPDX-License-Identifier: MIT
// Which end belongs to which begin, by values alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "replay/spikes/instances/paired_regions.h"

namespace flowback {
namespace {

TEST(PairedPasses, GoByTheirValues) {
  const auto pass = [](uint32_t thread, bool starts, uint64_t value, uint64_t time) {
    return PlacePass{.thread = thread,
                     .starts = starts,
                     .has_value = true,
                     .value = value,
                     .position = time,
                     .at = TimePoint::Exact(time)};
  };
  std::vector<PlacePass> passes = {
      pass(0, true, 1, 10),  pass(0, true, 2, 20),  pass(1, false, 2, 30),
      pass(1, false, 1, 40), pass(1, false, 9, 50), pass(0, true, 3, 60),
      pass(0, true, 1, 70),  pass(0, true, 1, 80),  pass(1, false, 1, 90)};
  passes.push_back({.thread = 0, .starts = true, .at = TimePoint::Exact(95)});
  std::ranges::reverse(passes);
  const PairedRegions pairs = PairPasses(passes, 2);
  EXPECT_TRUE(pairs.by_thread[0].empty());
  ASSERT_EQ(pairs.by_thread[1].size(), 3U);
  EXPECT_EQ(pairs.by_thread[1][0].begin.time, 20U);
  EXPECT_EQ(pairs.by_thread[1][1].begin.time, 10U);
  EXPECT_EQ(pairs.by_thread[1][2].begin.time, 70U);
  EXPECT_EQ(pairs.unpaired.without_begin, 1U);
  EXPECT_EQ(pairs.unpaired.without_end, 2U);
  EXPECT_EQ(pairs.unpaired.without_value, 1U);
}

}  // namespace
}  // namespace flowback
