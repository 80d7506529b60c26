// SPDX-License-Identifier: MIT
// Lines that are found again: against a table, and against the longest common subsequence.
#include "replay/diff/aligned_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace flowback {
namespace {

using Texts = std::vector<std::string_view>;

TEST(AlignedLines, FindsInsertedRemovedAndChangedLines) {
  const Texts old = {"a", "b", "c", "d", "e"};
  const Texts now = {"a", "x", "b", "d", "y", "e"};
  const auto pairs = AlignLines(old, now);
  ASSERT_EQ(pairs.size(), old.size());
  EXPECT_EQ(pairs[0], 0u);
  EXPECT_EQ(pairs[1], 2u);
  EXPECT_EQ(pairs[2], std::nullopt);
  EXPECT_EQ(pairs[3], 3u);
  EXPECT_EQ(pairs[4], 5u);
}

TEST(AlignedLines, BearsEmptyAndEqualTexts) {
  const Texts none;
  const Texts some = {"}", "}", "}"};
  EXPECT_TRUE(AlignLines(none, some).empty());
  EXPECT_EQ(AlignLines(some, none), (std::vector<std::optional<uint32_t>>(3)));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(AlignLines(some, some)[i], i);
}

// Whatever was edited, a pair is of equal lines, and pairs keep their order.
TEST(AlignedLines, KeepsEqualityAndOrderOfAnyTexts) {
  std::mt19937 random(7);
  const std::vector<std::string> words = {"a", "b", "c", "d", "}", "return;"};
  for (int round = 0; round < 500; ++round) {
    Texts old;
    Texts now;
    for (unsigned i = random() % 30; i != 0; --i) old.push_back(words[random() % words.size()]);
    for (const std::string_view line : old) {
      if (random() % 5 != 0) now.push_back(line);
      if (random() % 5 == 0) now.push_back(words[random() % words.size()]);
    }
    const auto pairs = AlignLines(old, now);
    uint32_t next = 0;
    for (size_t i = 0; i < old.size(); ++i) {
      if (!pairs[i]) continue;
      ASSERT_LT(*pairs[i], now.size());
      EXPECT_EQ(old[i], now[*pairs[i]]);
      EXPECT_GE(*pairs[i], next);
      next = *pairs[i] + 1;
    }
  }
}

}  // namespace
}  // namespace flowback
