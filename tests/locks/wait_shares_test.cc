// SPDX-License-Identifier: MIT
// Waits as parts of the classes of a thread's time.
#include "replay/locks/wait_shares.h"

#include <gtest/gtest.h>

#include <numeric>

namespace flowback {
namespace {

constexpr auto kExecuting = static_cast<size_t>(TimeClass::kExecuting);
constexpr auto kKernel = static_cast<size_t>(TimeClass::kKernel);
constexpr auto kOffCpu = static_cast<size_t>(TimeClass::kOffCpu);

ClassSpan Span(TimeClass kind, uint64_t begin, uint64_t end) {
  ClassSpan span;
  span.kind = kind;
  span.begin = begin;
  span.end = end;
  return span;
}

// Executing from 100 to 200 and from 300 on, off the CPU from 220 to 290, else in the kernel.
TimeAccount Account() {
  TimeAccount account;
  account.begin = 100;
  account.end = 400;
  account.spans = ClassSpans{
      .spans = {Span(TimeClass::kExecuting, 100, 200), Span(TimeClass::kKernel, 200, 220),
                Span(TimeClass::kOffCpu, 220, 290), Span(TimeClass::kKernel, 290, 300),
                Span(TimeClass::kExecuting, 300, 400)}};
  return account;
}

constexpr TimeSpan kLife{.begin = 100, .end = 400};
constexpr WaitShareOptions kWanted{.wanted = true, .columns = 3, .most_strips = 1, .spans = true};

ClassTimes Times(uint64_t executing, uint64_t kernel, uint64_t off_cpu) {
  ClassTimes times{};
  times[kExecuting] = executing;
  times[kKernel] = kernel;
  times[kOffCpu] = off_cpu;
  return times;
}

TEST(WaitSharesTest, SplitsTheClassesInWhichAThreadSpinsAndSleeps) {
  const TimeAccount account = Account();
  WaitShares shares(account, {}, kLife, kWanted, true);
  shares.AddSleep(200, 300);
  shares.AddWait(150, 310);
  const ThreadWaits waits = shares.Take();
  EXPECT_EQ(waits.times.spinning, Times(60, 0, 0));
  EXPECT_EQ(waits.times.sleeping, Times(0, 30, 70));
  ASSERT_EQ(waits.spans.size(), 3U);
  EXPECT_EQ(waits.spans[1].begin, 200U);
  EXPECT_EQ(waits.spans[1].end, 300U);
  EXPECT_TRUE(waits.spans[1].sleeps);
  ASSERT_EQ(waits.strip.size(), 3U);
  EXPECT_EQ(waits.strip[0].spinning, Times(50, 0, 0));
  EXPECT_EQ(waits.strip[1].sleeping, Times(0, 30, 70));
  EXPECT_EQ(waits.strip[2].spinning, Times(10, 0, 0));
}

TEST(WaitSharesTest, ATimeCountsOnceHoweverManyWaitsItIsIn) {
  const TimeAccount account = Account();
  WaitShares shares(account, {}, kLife, kWanted, true);
  shares.AddSleep(210, 230);
  shares.AddWait(205, 240);
  shares.AddWait(180, 250);
  shares.AddSleep(320, 330);
  shares.AddWait(320, 330);
  const ThreadWaits waits = shares.Take();
  EXPECT_EQ(SumOf(waits.times.spinning), 50U);
  EXPECT_EQ(SumOf(waits.times.sleeping), 30U);
  uint64_t end = 0;
  for (const WaitStretch& span : waits.spans) {
    EXPECT_GE(span.begin, end);
    end = span.end;
  }
}

TEST(WaitSharesTest, OnlyThePartWithinTheSpanCounts) {
  const TimeAccount account = Account();
  const TimeSpan wanted{.begin = 190, .end = 225};
  WaitShares shares(account, wanted, wanted, kWanted, false);
  shares.AddSleep(200, 300);
  shares.AddWait(150, 310);
  const ThreadWaits waits = shares.Take();
  EXPECT_EQ(waits.times.spinning, Times(10, 0, 0));
  EXPECT_EQ(waits.times.sleeping, Times(0, 20, 5));
  EXPECT_TRUE(waits.strip.empty());
}

TEST(WaitSharesTest, AThreadWithVeryManyWaitsHasSumsAlone) {
  TimeAccount account;
  account.end = uint64_t{1} << 40;
  account.spans = ClassSpans{.spans = {Span(TimeClass::kExecuting, 0, account.end)}};
  WaitShares shares(account, {}, {.begin = 0, .end = account.end}, kWanted, true);
  constexpr uint64_t kWaits = (uint64_t{1} << 20) + 5;
  for (uint64_t i = 0; i < kWaits; ++i) shares.AddWait(10 * i, 10 * i + 3);
  const ThreadWaits waits = shares.Take();
  EXPECT_EQ(waits.times.spinning[kExecuting], 3 * kWaits);
  EXPECT_TRUE(waits.has_too_many_spans);
  EXPECT_TRUE(waits.spans.empty());
}

}  // namespace
}  // namespace flowback
