// SPDX-License-Identifier: MIT
// Limits of a comparison: how they are read, and what they are held against.
#include "replay/diff/diff_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flowback {
namespace {

TEST(DiffLimit, ReadsMeasureNameAndBound) {
  const auto limit = DiffLimit::Parse(" calls( f(int) ) >= +2.5%");
  ASSERT_TRUE(limit.has_value()) << limit.error().message();
  EXPECT_EQ(limit->measure, DiffLimit::Measure::kCalls);
  EXPECT_EQ(limit->kind, DiffLimit::Kind::kPercent);
  EXPECT_DOUBLE_EQ(limit->bound, 2.5);
  EXPECT_TRUE(limit->above);
  EXPECT_TRUE(limit->equal);
  EXPECT_TRUE(limit->function.has_value());
}

TEST(DiffLimit, TellsValuesFromChanges) {
  const auto kind = [](const char* text) { return DiffLimit::Parse(text)->kind; };
  EXPECT_EQ(kind("self() > 1000"), DiffLimit::Kind::kValue);
  EXPECT_EQ(kind("self() > +1000"), DiffLimit::Kind::kDifference);
  EXPECT_EQ(kind("self() < -1000"), DiffLimit::Kind::kDifference);
  EXPECT_EQ(kind("self() > 1.02x"), DiffLimit::Kind::kRatio);
  EXPECT_EQ(kind("self() > 2%"), DiffLimit::Kind::kPercent);
  EXPECT_EQ(kind("coverage(lines) < 80%"), DiffLimit::Kind::kValue);
  EXPECT_EQ(kind("coverage(lines) < -1%"), DiffLimit::Kind::kPercent);
  EXPECT_DOUBLE_EQ(DiffLimit::Parse("time(f) > 5ms")->bound, 5e6);
}

TEST(DiffLimit, ReadsWaitsAsNumbersAndWaitingAsTime) {
  const auto waits = DiffLimit::Parse("waits(Book) > 1.1x");
  ASSERT_TRUE(waits.has_value()) << waits.error().message();
  EXPECT_TRUE(waits->MeasuresWaits());
  EXPECT_FALSE(waits->MeasuresTime());
  EXPECT_FALSE(DiffLimit::Parse("waits() > 5ms").has_value());
  const auto waiting = DiffLimit::Parse("waiting() > 5ms");
  ASSERT_TRUE(waiting.has_value()) << waiting.error().message();
  EXPECT_TRUE(waiting->MeasuresWaits());
  EXPECT_DOUBLE_EQ(waiting->bound, 5e6);
  EXPECT_FALSE(DiffLimit::Parse("calls() > 5")->MeasuresWaits());
}

TEST(DiffLimit, IgnoresBlanksAroundANameOrKind) {
  const auto limit = DiffLimit::Parse("calls( Leaf\t) > 1x");
  ASSERT_TRUE(limit.has_value()) << limit.error().message();
  EXPECT_EQ(limit->of, "Leaf");
  ASSERT_TRUE(limit->function.has_value());
  EXPECT_TRUE(limit->function->Matches("Leaf"));
  EXPECT_EQ(DiffLimit::Parse("coverage( lines ) < 80")->of, "lines");
  EXPECT_FALSE(DiffLimit::Parse("calls( ) > 1x")->function.has_value());
  EXPECT_TRUE(DiffLimit::Parse("gone( ) > 0").has_value());
}

TEST(DiffLimit, AsksForAUnitThatFits) {
  const auto message = [](const char* text) { return DiffLimit::Parse(text).error().message(); };
  const std::string of_sign = message("calls(main) > +1x");
  EXPECT_TRUE(of_sign.contains("a ratio has none: 1.02x")) << of_sign;
  EXPECT_FALSE(of_sign.contains("x or %")) << of_sign;
  EXPECT_TRUE(message("calls(main) > 1y").contains("x or % is expected"));
  EXPECT_TRUE(message("time(main) > +1x").contains("%, ns, us, ms or s is expected"));
}

// Any text is a limit or an error with a remedy.
TEST(DiffLimit, BearsEveryBeginningOfALimit) {
  const std::string whole = "instructions(f(int)) >= 1.02x";
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto limit = DiffLimit::Parse(whole.substr(0, size));
    if (limit) continue;
    EXPECT_EQ(limit.error().code(), ErrorCode::kUsage);
    EXPECT_TRUE(limit.error().message().contains("at character")) << limit.error().message();
  }
  for (const char* text : {"self() > nan", "self() > inf", "self() > 1e999", "self() > --1"})
    EXPECT_FALSE(DiffLimit::Parse(text).has_value()) << text;
}

}  // namespace
}  // namespace flowback
