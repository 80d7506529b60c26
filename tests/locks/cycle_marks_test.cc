// SPDX-License-Identifier: MIT
// Cycles between two instructions, from marks.
#include "replay/locks/cycle_marks.h"

#include <gtest/gtest.h>

namespace flowback::test {
namespace {

using Since = CycleMark::Since;

TEST(CycleMarksTest, BetweenMarksInstructionsHaveTheSameShare) {
  CycleMarks marks;
  marks.Add(100, CycleMark::Of(Since::kUnknown, 0));
  marks.Add(120, CycleMark::Of(Since::kFlow, 60));
  marks.Add(130, CycleMark::Of(Since::kFlow, 10));
  EXPECT_EQ(marks.UpTo(130) - marks.UpTo(100), 70u);
  EXPECT_EQ(marks.UpTo(110) - marks.UpTo(100), 30u);
  EXPECT_EQ(marks.UpTo(125) - marks.UpTo(110), 35u);
}

TEST(CycleMarksTest, CountsNothingWhereNothingIsTold) {
  CycleMarks marks;
  EXPECT_EQ(marks.UpTo(10), 0u);
  marks.Add(20, CycleMark::Of(Since::kFlow, 1000));  // from an unknown place on
  marks.Add(40, {});
  marks.Add(50, CycleMark::Of(Since::kFlow, 5));
  marks.Add(50, CycleMark::Of(Since::kPause, 3000));
  marks.Add(60, CycleMark::Of(Since::kFlow, 7));
  EXPECT_EQ(marks.UpTo(60) - marks.UpTo(0), 12u);
  EXPECT_EQ(marks.UpTo(1000), marks.UpTo(60));
}

TEST(CycleMarksTest, KeepsTheLastMarks) {
  CycleMarks marks;
  for (uint64_t i = 0; i <= 100'000; ++i) {
    marks.Add(i, CycleMark::Of(Since::kFlow, 2));
    marks.ForgetOld();
  }
  EXPECT_EQ(marks.UpTo(100'000) - marks.UpTo(99'500), 1000u);
}

}  // namespace
}  // namespace flowback::test
