// SPDX-License-Identifier: MIT
// Ranges that overlap become ranges that don't.
#include "replay/symbols/lines/line_map.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace flowback::symbols {
namespace {

std::string Text(const std::vector<OwnedRange>& ranges) {
  std::string text;
  for (const OwnedRange& range : ranges)
    text += std::to_string(range.begin) + "-" + std::to_string(range.end) + ":" +
            std::to_string(range.owner) + " ";
  return text;
}

TEST(Disjoint, TheInnerOneWins) {
  EXPECT_EQ(Text(Disjoint({{0, 100, 1}, {10, 20, 2}, {15, 18, 3}})),
            "0-10:1 10-15:2 15-18:3 18-20:2 20-100:1 ");
}

TEST(Disjoint, OfTwoAtOnePlaceTheLaterInTheListWins) {
  EXPECT_EQ(Text(Disjoint({{0, 10, 1}, {0, 10, 2}, {0, 4, 3}})), "0-4:3 4-10:2 ");
}

TEST(Disjoint, RangesThatCross) {
  EXPECT_EQ(Text(Disjoint({{0, 10, 1}, {5, 15, 2}, {8, 9, 3}})), "0-5:1 5-8:2 8-9:3 9-15:2 ");
}

TEST(Disjoint, EmptyAndReversedOnesVanish) {
  EXPECT_EQ(Text(Disjoint({{5, 5, 1}, {9, 3, 2}, {UINT64_MAX, 1, 3}})), "");
}

TEST(FindRange, HalfOpen) {
  const std::vector<OwnedRange> ranges = {{10, 20, 1}, {20, 30, 2}, {40, 50, 3}};
  EXPECT_EQ(FindRange(ranges, 9), nullptr);
  EXPECT_EQ(FindRange(ranges, 10)->owner, 1u);
  EXPECT_EQ(FindRange(ranges, 20)->owner, 2u);
  EXPECT_EQ(FindRange(ranges, 30), nullptr);
  EXPECT_EQ(FindRange(ranges, 49)->owner, 3u);
  EXPECT_EQ(FindRange(ranges, 50), nullptr);
}

// Against the definition, address by address.
TEST(Disjoint, RandomRanges) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<OwnedRange> ranges;
    for (uint32_t i = 0; i < 1 + random() % 12; ++i) {
      const uint64_t begin = random() % 60;
      ranges.push_back({begin, begin + random() % 20, i});
    }
    const std::vector<OwnedRange> result = Disjoint(ranges);
    for (uint64_t address = 0; address < 90; ++address) {
      const OwnedRange* expected = nullptr;
      for (const OwnedRange& range : ranges)
        if (range.begin <= address && address < range.end &&
            (expected == nullptr || range.begin >= expected->begin))
          expected = &range;
      const OwnedRange* found = FindRange(result, address);
      ASSERT_EQ(found == nullptr, expected == nullptr) << address;
      if (found == nullptr) continue;
      ASSERT_EQ(found->owner, expected->owner) << address << " " << Text(ranges);
    }
  }
}

TEST(LineRangesOf, CutsWhereLineOrSubroutineChanges) {
  UnitInfo unit;
  unit.rows = {{0, 10, 0, 1, 0}, {10, 30, 0, 2, 0}, {40, 50, 0, 3, 0}};
  unit.ranges = {{5, 20, 0, 1}, {15, 18, 1, 2}, {28, 45, 2, 1}};
  std::string text;
  for (const LineRange& line_range : LineRangesOf(unit))
    text += std::to_string(line_range.begin) + "-" + std::to_string(line_range.end) + " line " +
            std::to_string(line_range.line) + " in " +
            (line_range.subroutine == kNone ? "-" : std::to_string(line_range.subroutine)) + "; ";
  EXPECT_EQ(text,
            "0-5 line 1 in -; 5-10 line 1 in 0; 10-15 line 2 in 0; 15-18 line 2 in 1; "
            "18-20 line 2 in 0; 20-28 line 2 in -; 28-30 line 2 in 2; 30-40 line 0 in 2; "
            "40-45 line 3 in 2; 45-50 line 3 in -; ");
}

}  // namespace
}  // namespace flowback::symbols
