// SPDX-License-Identifier: MIT
// When a number of several runs differs, and when it is noise.
#include "replay/diff/measured.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace flowback {
namespace {

MeasuredChange ChangeOf(const std::vector<uint64_t>& old, const std::vector<uint64_t>& now) {
  return {Measured::Of(old), Measured::Of(now)};
}

TEST(Measured, HasMeanRangeAndDeviation) {
  const std::vector<uint64_t> values = {2, 4, 9};
  const Measured measured = Measured::Of(values);
  EXPECT_EQ(measured.runs, 3u);
  EXPECT_DOUBLE_EQ(measured.least, 2);
  EXPECT_DOUBLE_EQ(measured.most, 9);
  EXPECT_DOUBLE_EQ(measured.mean, 5);
  EXPECT_DOUBLE_EQ(measured.deviation, std::sqrt(13.0));  // (9 + 1 + 16) / 2
  EXPECT_EQ(Measured::Of(std::vector<uint64_t>()).runs, 0u);
}

TEST(MeasuredChange, IsSignificantBeyondTheNoise) {
  EXPECT_TRUE(ChangeOf({10}, {11}).IsSignificant());
  EXPECT_FALSE(ChangeOf({10}, {10}).IsSignificant());
  EXPECT_FALSE(ChangeOf({10, 12}, {11, 13}).IsSignificant());
  EXPECT_TRUE(ChangeOf({10, 12}, {13, 14}).IsSignificant());
  EXPECT_TRUE(ChangeOf({10, 11, 12}, {20, 21, 22}).IsSignificant());
  EXPECT_FALSE(ChangeOf({10, 11, 12}, {13, 20, 22}).IsSignificant());
}

TEST(MeasuredChange, HasARatioAlsoFromNothing) {
  EXPECT_DOUBLE_EQ(ChangeOf({10}, {12}).ratio(), 1.2);
  EXPECT_DOUBLE_EQ(ChangeOf({0}, {0}).ratio(), 1);
  EXPECT_TRUE(std::isinf(ChangeOf({0}, {1}).ratio()));
}

}  // namespace
}  // namespace flowback
