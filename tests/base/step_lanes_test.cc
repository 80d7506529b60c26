// SPDX-License-Identifier: MIT
// Counts and times of many steps together are those of each by itself.
#include "base/step_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace flowback {
namespace {

constexpr size_t kRoom = StepLanes::kTogether + 16;

std::vector<StepCount> RandomCounts(std::mt19937& random, size_t size, unsigned most) {
  std::vector<StepCount> counts(size);
  for (StepCount& count : counts) count = StepCount::Of(1 + random() % most);
  return counts;
}

// The vector ends where the counts do: a sanitizer sees who reads on.
TEST(StepLanesTest, AddCountsOfAnySize) {
  std::mt19937 random(1);
  for (const StepLanes& lanes : StepLanes::All()) {
    for (size_t size = 1; size <= StepLanes::kTogether; ++size) {
      const unsigned most = size % 3 == 0 ? StepCount::kMost : 9;
      std::vector<StepCount> counts = RandomCounts(random, size, most);
      if (size % 5 == 0) std::ranges::fill(counts, StepCount::Of(StepCount::kMost));
      uint32_t sums[kRoom];
      lanes.add_counts(counts.data(), size, sums);
      uint32_t sum = 0;
      for (size_t i = 0; i < size; ++i)
        ASSERT_EQ(sums[i], sum += counts[i].count()) << lanes.name << ", " << i << " of " << size;
    }
  }
}

TEST(StepLanesTest, CountWhatIsBelow) {
  std::mt19937 random(2);
  for (const StepLanes& lanes : StepLanes::All()) {
    std::vector<uint32_t> sums(StepLanes::kTogether);
    uint32_t sum = 0;
    for (uint32_t& each : sums) each = sum += 1 + random() % 256;
    for (uint64_t limit = 0; limit <= sum + 2; ++limit) {
      const auto below = std::ranges::lower_bound(sums, limit) - sums.begin();
      ASSERT_EQ(lanes.count_below(sums.data(), limit), static_cast<size_t>(below)) << lanes.name;
    }
    sums.back() = StepLanes::kNever;
    EXPECT_EQ(lanes.count_below(sums.data(), StepLanes::kNever), StepLanes::kTogether - 1);
  }
}

constexpr uint64_t kMostBefore = 100'000;

// A line as they come, or one of extremes.
TimeLine RandomLine(std::mt19937_64& random, bool extreme) {
  const auto below = [&random](uint64_t most) { return random() % most; };
  const auto from = [&](auto... choices) {
    const uint64_t all[] = {static_cast<uint64_t>(choices)...};
    return all[below(std::size(all))];
  };
  TimeLine line;
  line.begin = extreme ? from(0, 1, uint64_t{1} << 31, uint64_t{1} << 62) : below(1ull << 50);
  line.ahead = below(5000) - below(3000);
  line.pace = static_cast<double>(below(1000)) / static_cast<double>(1 + below(3000));
  line.pauses = below(3) == 0 ? static_cast<double>(below(100'000)) / 7 : 0;
  line.earliest = below(2) == 0 ? line.begin + below(3000) : 0;
  if (below(2) == 0) line.end = line.begin + below(20'000);
  if (below(2) == 0) line.latest = line.begin + below(20'000);
  if (!extreme) return line;
  line.pace *= static_cast<double>(from(1, 1000, 10'000'000, 1ull << 40, 1ull << 52));
  line.pauses *= static_cast<double>(from(1, 1'000'000, 1ull << 40));
  line.ahead += from(0, 1ull << 31, 0ull - (1ull << 31), 1ull << 40, 0ull - 256 * 60);
  // Ticks fit into 63 bits, as those of any trace do.
  const auto most = static_cast<double>(std::max<int64_t>(static_cast<int64_t>(line.ahead), 0)) +
                    kMostBefore + StepLanes::kTogether * StepCount::kMost;
  constexpr double kMostTicks = 4e18;
  line.pace = std::min(line.pace, kMostTicks / most);
  line.pauses = std::min(line.pauses, kMostTicks);
  return line;
}

TEST(StepLanesTest, TimesAreThoseOfTheLine) {
  std::mt19937_64 random(3);
  std::mt19937 counts_random(3);
  for (int round = 0; round < 20'000; ++round) {
    const TimeLine line = RandomLine(random, round % 3 == 0);
    const size_t size = random() % (StepLanes::kTogether + 1);
    const uint64_t before = random() % 4 == 0 ? 0 : random() % kMostBefore;
    const std::vector<StepCount> counts = RandomCounts(counts_random, size, 1 + round % 256);
    uint32_t sums[kRoom] = {};
    StepLanes::All().front().add_counts(counts.data(), size, sums);
    for (const StepLanes& lanes : StepLanes::All()) {
      uint64_t times[kRoom];
      lanes.add_times(line, before, sums, size, times);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_EQ(times[i], line.At(before + sums[i]))
            << lanes.name << ", round " << round << ", " << i << " of " << size;
      }
    }
  }
}

TEST(StepLanesTest, TheBestOneIsTheLast) {
  EXPECT_EQ(&StepLanes::Best(), &StepLanes::All().back());
  EXPECT_STREQ(StepLanes::All().front().name, "plain");
}

}  // namespace
}  // namespace flowback
